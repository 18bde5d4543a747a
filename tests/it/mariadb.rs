//! MariaDB as somebody else's server.

use crate::support::external;
use crate::support::servers::Family;

external::tests!(Family::MariaDb);
