//! The private folders of servers: made for one server, marked as a run's own, removed as a whole.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Paths of Unix sockets end here.
const SOCKET_BYTES: usize = 107;
/// Says whose folder it is.
const MARK_FILE: &str = "rowcliff-mark";
/// Where the socket is, when the folder's own path is too long for one.
const SOCKET_FILE: &str = "socket-folder";
/// How a folder for a socket begins.
const SOCKET_FOLDER: &str = "rowcliff-";

/// The folder of one server.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// A short private folder of its own, when the path of this one is too long.
    socket_folder: Option<PathBuf>,
}

impl Folder {
    /// Makes `base/name`, for its owner only.
    ///
    /// # Errors
    /// It is there already, or cannot be made.
    pub fn create(base: &Path, name: &str, mark: &str) -> io::Result<Self> {
        fs::create_dir_all(base)?;
        let path = base.join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        let mut folder = Self { path, socket_folder: None };
        let filled = folder.fill(mark);
        if filled.is_err() {
            let _ = folder.remove();
        }
        filled.map(|()| folder)
    }

    /// Takes the folder of a server that has ended, by the same mark.
    ///
    /// # Errors
    /// It is not there, or bears another mark.
    pub fn find(path: &Path, mark: &str) -> io::Result<Self> {
        if fs::read_to_string(path.join(MARK_FILE))? != mark {
            return Err(io::Error::other("bears another run's mark and is left alone"));
        }
        let mut folder = Self { path: path.to_owned(), socket_folder: None };
        if let Ok(old) = fs::read(path.join(SOCKET_FILE)) {
            // Left behind when the server was killed. The name may belong to somebody else by now.
            remove_socket_folder(Some(Path::new(std::ffi::OsStr::from_bytes(&old))));
        }
        let _ = fs::remove_file(path.join("s"));
        folder.place_socket()?;
        Ok(folder)
    }

    fn fill(&mut self, mark: &str) -> io::Result<()> {
        fs::write(self.path.join(MARK_FILE), mark)?;
        fs::create_dir(self.tmp())?;
        self.place_socket()
    }

    fn place_socket(&mut self) -> io::Result<()> {
        if self.path.join("s").as_os_str().as_bytes().len() > SOCKET_BYTES {
            let short = socket_folder()?;
            fs::write(self.path.join(SOCKET_FILE), short.as_os_str().as_bytes())?;
            self.socket_folder = Some(short);
        }
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The data directory, which whoever initialises it makes.
    pub fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// For temporary files, on the same file system.
    pub fn tmp(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// The file of the process id.
    pub fn pid(&self) -> PathBuf {
        self.path.join("pid")
    }

    pub fn socket(&self) -> PathBuf {
        self.socket_folder.as_ref().unwrap_or(&self.path).join("s")
    }

    /// Removes what only a running server needs.
    pub fn leave(&self) {
        remove_socket_folder(self.socket_folder.as_deref());
    }

    /// Removes it with everything in it.
    ///
    /// # Errors
    /// Something in it cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        self.leave();
        fs::remove_dir_all(&self.path)
    }
}

fn socket_folder() -> io::Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut base = std::env::temp_dir();
    if base.as_os_str().as_bytes().len() > SOCKET_BYTES / 2 {
        base = PathBuf::from("/tmp");
    }
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let nanos = jiff::Timestamp::now().as_nanosecond() as u32;
    let path = base.join(format!("{SOCKET_FOLDER}{}-{count}-{nanos:08x}", std::process::id()));
    // Fails when somebody else made it first: then it is not private.
    DirBuilder::new().mode(0o700).create(&path)?;
    Ok(path)
}

/// Removes the two files that a server makes there, and then the folder if nothing else is in it.
fn remove_socket_folder(path: Option<&Path>) {
    let named_by_us =
        |path: &&Path| path.file_name().is_some_and(|name| name.as_bytes().starts_with(SOCKET_FOLDER.as_bytes()));
    if let Some(path) = path.filter(named_by_us) {
        let _ = fs::remove_file(path.join("s"));
        let _ = fs::remove_file(path.join("s.lock"));
        let _ = fs::remove_dir(path);
    }
}

/// Removes the folders below `base` that bear the mark of a run. Gives their paths.
///
/// # Errors
/// One of them cannot be removed.
pub fn remove_marked(base: &Path, mark: &str) -> io::Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    let entries = match fs::read_dir(base) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(removed),
        other => other?,
    };
    for entry in entries {
        let path = entry?.path();
        let is_ours =
            fs::read_to_string(path.join(MARK_FILE)).is_ok_and(|text| text.split(' ').any(|word| word == mark));
        if is_ours {
            let socket_folder = fs::read(path.join(SOCKET_FILE)).ok();
            let socket_folder = socket_folder.map(|bytes| PathBuf::from(std::ffi::OsStr::from_bytes(&bytes)));
            remove_socket_folder(socket_folder.as_deref());
            fs::remove_dir_all(&path)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
            removed.push(path);
        }
    }
    removed.sort();
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_is_private_and_its_socket_is_short() {
        let base = tempfile::tempdir().unwrap();
        let folder = Folder::create(base.path(), "a", "rowcliff run=x curve=1").unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(folder.socket(), folder.path().join("s"));
        assert!(Folder::create(base.path(), "a", "m").is_err());

        let deep = base.path().join("d".repeat(100));
        let folder = Folder::create(&deep, "a", "m").unwrap();
        let socket = folder.socket();
        assert!(socket.as_os_str().as_bytes().len() <= SOCKET_BYTES);
        let private = socket.parent().unwrap().to_owned();
        assert_eq!(fs::metadata(&private).unwrap().permissions().mode() & 0o777, 0o700);
        folder.remove().unwrap();
        assert!(!private.exists() && !folder.path().exists());
    }

    #[test]
    fn only_the_runs_own_folders_are_removed() {
        let base = tempfile::tempdir().unwrap();
        Folder::create(base.path(), "a", "rowcliff run=x curve=1").unwrap();
        Folder::create(base.path(), "b", "rowcliff run=xy curve=1").unwrap();
        fs::create_dir(base.path().join("c")).unwrap();
        let removed = remove_marked(base.path(), "run=x").unwrap();
        assert_eq!(removed, [base.path().join("a")]);
        assert!(base.path().join("b").exists() && base.path().join("c").exists());
        assert_eq!(remove_marked(&base.path().join("nothing"), "run=x").unwrap(), Vec::<PathBuf>::new());
    }
}
