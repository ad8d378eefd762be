//! The directory that the file tools cannot leave.
//!
//! A path is first read as text – `..` takes back the component before it – and then followed on
//! disk; what symlinks make of it must still lie under the root. Between that check and the opening
//! of the file another process could swap a directory for a symlink: whoever runs hostile programs
//! beside the agent needs a sandbox, not this.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::OFlags;

use super::Refusal;

/// A directory that cannot serve as a root.
#[derive(Debug, thiserror::Error)]
#[error("`{}` cannot be the root of tools: {source}", path.display())]
pub struct RootProblem {
    path: PathBuf,
    source: io::Error,
}

/// A directory and all that lies in it.
#[derive(Clone, Debug)]
pub(super) struct Root {
    /// As it was given; absolute paths may begin with it.
    given: PathBuf,
    /// Without symlinks.
    real: PathBuf,
    /// Held while a file is read, changed and put back.
    pub(super) changes: Arc<Mutex<()>>,
}

impl Root {
    pub(super) fn new(path: &Path) -> Result<Self, RootProblem> {
        let problem = |source| RootProblem { path: path.to_owned(), source };
        let real = fs::canonicalize(path).map_err(problem)?;
        if !real.is_dir() {
            return Err(problem(io::Error::from(io::ErrorKind::NotADirectory)));
        }
        Ok(Self { given: path.to_owned(), real, changes: Arc::default() })
    }

    /// The directory itself.
    pub(super) fn path(&self) -> &Path {
        &self.real
    }

    /// Where something that exists really lies.
    pub(super) fn existing(&self, asked: &str) -> Result<PathBuf, Refusal> {
        let path = self.real.join(self.lexical(asked)?);
        self.followed(&path, asked)
    }

    /// Where something may be written, whether it exists or not.
    pub(super) fn target(&self, asked: &str) -> Result<PathBuf, Refusal> {
        let path = self.real.join(self.lexical(asked)?);
        // A symlink that leads nowhere exists, and following it fails: nothing is written through it.
        let ancestor = path
            .ancestors()
            .find(|ancestor| fs::symlink_metadata(ancestor).is_ok())
            .ok_or_else(|| Refusal("The root is gone.".to_owned()))?;
        let rest = path.strip_prefix(ancestor).map_err(|_| outside(asked))?;
        let real = self.followed(ancestor, asked)?;
        if rest.as_os_str().is_empty() {
            return Ok(real);
        }
        if !real.is_dir() {
            return Err(Refusal(format!("`{asked}`: `{}` is no directory.", self.shown(&real))));
        }
        Ok(real.join(rest))
    }

    /// A path as the model knows it.
    pub(super) fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.real) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => inside.to_string_lossy().into_owned(),
            Err(_) => path.to_string_lossy().into_owned(),
        }
    }

    /// Opens a regular file for reading; anything else could block or has no end.
    pub(super) fn open(&self, asked: &str) -> Result<File, Refusal> {
        open_file(&self.existing(asked)?).map_err(|error| explained(asked, &error))
    }

    /// The path below the root that a text names, without `.` and `..`.
    fn lexical(&self, asked: &str) -> Result<PathBuf, Refusal> {
        if asked.contains('\0') {
            return Err(Refusal("A path holds no NUL character.".to_owned()));
        }
        let asked_path = Path::new(asked.trim());
        let below = match (asked_path.strip_prefix(&self.real), asked_path.strip_prefix(&self.given)) {
            (Ok(below), _) | (Err(_), Ok(below)) if asked_path.is_absolute() => below,
            (Ok(_) | Err(_), Ok(_) | Err(_)) => asked_path,
        };
        let mut path = PathBuf::new();
        for component in below.components() {
            match component {
                Component::Normal(name) => path.push(name),
                Component::CurDir => {}
                Component::ParentDir if path.pop() => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(outside(asked)),
            }
        }
        Ok(path)
    }

    fn followed(&self, path: &Path, asked: &str) -> Result<PathBuf, Refusal> {
        let real = fs::canonicalize(path).map_err(|error| explained(asked, &error))?;
        if real.starts_with(&self.real) { Ok(real) } else { Err(outside(asked)) }
    }
}

/// Opens a regular file for reading. The path is one that has been followed already.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    if !kind.is_file() {
        return Err(io::Error::other("it is neither a file nor a directory"));
    }
    Ok(file)
}

/// What the system said about a path, in words for the model.
pub(super) fn explained(asked: &str, error: &io::Error) -> Refusal {
    let kind = error.kind();
    Refusal(if kind == io::ErrorKind::NotFound {
        format!("`{asked}` does not exist. List its directory to see what does.")
    } else if kind == io::ErrorKind::IsADirectory {
        format!("`{asked}` is a directory.")
    } else if kind == io::ErrorKind::NotADirectory {
        format!("`{asked}`: a part of the path is no directory.")
    } else {
        format!("`{asked}`: {error}.")
    })
}

fn outside(asked: &str) -> Refusal {
    Refusal(format!("`{asked}` is outside the directory that the tools may use. Give a path relative to its root."))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::Root;

    /// A root with a file in it, beside a directory with a secret.
    fn world() -> (tempfile::TempDir, Root) {
        let world = tempfile::tempdir().unwrap();
        fs::create_dir_all(world.path().join("root/dir")).unwrap();
        fs::create_dir(world.path().join("outside")).unwrap();
        fs::write(world.path().join("root/a.txt"), "a").unwrap();
        fs::write(world.path().join("outside/secret"), "s").unwrap();
        let root = Root::new(&world.path().join("root")).unwrap();
        (world, root)
    }

    #[test]
    fn paths_inside_are_found_however_they_are_written() {
        let (_world, root) = world();
        let absolute = root.path().join("a.txt");
        for asked in ["a.txt", "./a.txt", "dir/../a.txt", " a.txt ", "nowhere/../a.txt", absolute.to_str().unwrap()] {
            assert_eq!(root.existing(asked), Ok(absolute.clone()), "{asked}");
        }
        assert_eq!(root.existing(""), Ok(root.path().to_owned()));
    }

    #[test]
    fn dots_do_not_leave_the_root() {
        let (_world, root) = world();
        for asked in ["..", "../outside/secret", "dir/../../outside/secret", "/etc/passwd", "/", "new/../../x", "a\0b"]
        {
            assert!(root.existing(asked).is_err(), "{asked}");
            assert!(root.target(asked).is_err(), "{asked}");
        }
    }

    #[test]
    fn symlinks_do_not_leave_the_root() {
        let (world, root) = world();
        symlink(world.path().join("outside"), root.path().join("way-out")).unwrap();
        symlink("../outside/secret", root.path().join("file-out")).unwrap();
        symlink("../outside/new", root.path().join("dangling")).unwrap();
        for asked in ["way-out", "way-out/secret", "file-out"] {
            assert!(root.existing(asked).is_err(), "{asked}");
        }
        for asked in ["way-out/new", "way-out/new/deep", "file-out", "dangling", "dangling/deep"] {
            assert!(root.target(asked).is_err(), "{asked}");
        }
    }

    #[test]
    fn symlinks_inside_lead_to_the_real_file() {
        let (_world, root) = world();
        symlink("../a.txt", root.path().join("dir/link")).unwrap();
        assert_eq!(root.existing("dir/link"), Ok(root.path().join("a.txt")));
        assert_eq!(root.target("dir/link"), Ok(root.path().join("a.txt")));
    }

    #[test]
    fn a_target_need_not_exist() {
        let (_world, root) = world();
        assert_eq!(root.target("new/deep/b.txt"), Ok(root.path().join("new/deep/b.txt")));
        assert!(root.target("a.txt/b").is_err());
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        let (_world, root) = world();
        let pipe = root.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(root.open("pipe").is_err());
        assert!(root.open("dir").is_err());
        assert!(root.open("a.txt").is_ok());
    }
}
