//! Which engines a server has, and why the others are not there.

use std::collections::BTreeMap;

use super::control::{Control, Flavour, word};
use crate::engine::Engine;
use crate::targets::Failure;

type NamedRow = BTreeMap<String, Option<String>>;

/// The engines of a server, and the plugins that could bring more.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    flavour: Option<Flavour>,
    engines: Vec<NamedRow>,
    /// Libraries of the plugin directory with the state of what is in them, where the server tells (MariaDB).
    plugins: Vec<NamedRow>,
    plugin_directory: String,
    /// Tables get this engine whatever is asked for (MariaDB's `enforce_storage_engine`).
    enforced: Option<String>,
    /// Engines that are refused (MySQL's `disabled_storage_engines`).
    disabled: Vec<String>,
}

/// How an engine that is built in is switched on.
fn switch(engine: &Engine) -> String {
    engine.switch.as_ref().map_or_else(String::new, |option| {
        format!(": start it with --{option} (for --target scratch, --server-option {option}=ON)")
    })
}

impl Offer {
    /// Asks the server.
    ///
    /// # Errors
    /// What the server said.
    pub fn read(control: &mut Control) -> Result<Self, Failure> {
        let engines = control.named_rows("SHOW ENGINES")?;
        let plugins = match control.flavour {
            Flavour::MariaDb => control
                .named_rows("SELECT PLUGIN_STATUS, PLUGIN_LIBRARY FROM information_schema.ALL_PLUGINS")
                .unwrap_or_default(),
            Flavour::MySql => Vec::new(),
        };
        let variables = control.variables(["plugin_dir", "enforce_storage_engine", "disabled_storage_engines"])?;
        let variable = |name: &str| variables.get(name).cloned().unwrap_or_default();
        let disabled = variable("disabled_storage_engines");
        Ok(Self {
            flavour: Some(control.flavour),
            engines,
            plugins,
            plugin_directory: variable("plugin_dir"),
            enforced: Some(variable("enforce_storage_engine")).filter(|name| !name.is_empty()),
            disabled: disabled.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect(),
        })
    }

    /// Names of the engines that the server has and lets be used.
    pub fn names(&self) -> Vec<String> {
        let usable = |row: &&NamedRow| matches!(word(row, "support").to_ascii_uppercase().as_str(), "YES" | "DEFAULT");
        self.engines.iter().filter(usable).map(|row| word(row, "engine")).collect()
    }

    /// Why tables of an engine cannot be made here, with what would help.
    pub fn missing(&self, engine: &Engine) -> Option<String> {
        let name = &engine.name;
        let entry = self.engines.iter().find(|row| word(row, "engine").eq_ignore_ascii_case(name));
        let support = entry.map(|row| word(row, "support").to_ascii_uppercase());
        match support.as_deref() {
            None => return Some(format!("this server has no engine {name}{}", self.way_to(engine))),
            Some("YES" | "DEFAULT") => {}
            Some("DISABLED") => {
                return Some(format!("the engine {name} is there and switched off on this server{}", switch(engine)));
            }
            // A server says the same of an engine that it was built without, and of one that nothing switched on.
            Some(_) if engine.switch.is_some() => {
                return Some(format!(
                    "the engine {name} is switched off on this server, or it was built without it{}",
                    switch(engine)
                ));
            }
            Some(_) => return Some(format!("this server was built without the engine {name}{}", self.way_to(engine))),
        }
        if let Some(enforced) = self.enforced.as_ref().filter(|enforced| !enforced.eq_ignore_ascii_case(name)) {
            return Some(format!(
                "enforce_storage_engine={enforced} on this server: it makes no table of another engine; ask for --engine {}, or set it to NULL there",
                enforced.to_ascii_lowercase()
            ));
        }
        if self.disabled.iter().any(|disabled| disabled.eq_ignore_ascii_case(name)) {
            return Some(format!("the engine {name} stands in disabled_storage_engines of this server"));
        }
        None
    }

    fn way_to(&self, engine: &Engine) -> String {
        let Some(plugin) = &engine.plugin else { return String::new() };
        let library = self
            .plugins
            .iter()
            .find(|row| word(row, "plugin_library").strip_suffix(".so").is_some_and(|library| library == plugin));
        match (self.flavour, library) {
            (Some(Flavour::MariaDb), Some(_)) => {
                format!("; its library is there and not loaded: INSTALL SONAME '{plugin}'")
            }
            (Some(Flavour::MariaDb), None) => format!(
                "; it comes with the plugin {plugin}, which is not in plugin_dir ({}): install the package that brings it, then INSTALL SONAME '{plugin}'",
                self.plugin_directory
            ),
            _ => format!("; it comes with the plugin {plugin}, which this server has not loaded"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineTable;

    #[test]
    fn an_engine_that_is_built_in_and_off_is_named_with_its_switch() {
        let row = |engine: &str, support: &str| {
            let pairs = [("engine", engine), ("support", support)];
            pairs.into_iter().map(|(name, value)| (name.to_owned(), Some(value.to_owned()))).collect::<NamedRow>()
        };
        let offer = Offer {
            flavour: Some(Flavour::MySql),
            engines: vec![row("ndbcluster", "NO"), row("PBXT", "NO"), row("solidDB", "DISABLED"), row("InnoDB", "YES")],
            ..Offer::default()
        };
        let engines = EngineTable::built_in();
        let missing = |word: &str| offer.missing(&engines.resolve(word).1).unwrap_or_default();
        assert!(missing("ndb").contains("start it with --ndbcluster") && !missing("ndb").contains("plugin"));
        assert!(missing("pbxt").contains("built without") && missing("pbxt").contains("libpbxt"));
        assert!(missing("soliddb").ends_with("switched off on this server"));
        assert_eq!(missing("innodb"), "");
    }
}
