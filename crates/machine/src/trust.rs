//! Whom oomph believes: itself and the system's administrator. What another user could have put into a place is read as
//! data at most, never run, and never written over. docs/reference/security.md has the whole of it.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use rustix::process::geteuid;

/// Who may do what with what we make: we, and nobody else. Recordings hold the words of a command line.
const PRIVATE_FOLDER: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;
/// Write permission for the group or for all.
const OTHERS_WRITE: u32 = 0o022;
/// In a folder like /tmp, only the owner of a name may change it.
const STICKY: u32 = 0o1000;

/// Whether a file or folder, not what a link leads to, is this user's, and nobody else may change it.
pub fn is_ours(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| {
        !found.is_symlink() && found.uid() == geteuid().as_raw() && !others_may_write(&found)
    })
}

/// Whether a file is this user's or the administrator's, and nobody else may change it.
pub fn is_believed(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| is_ours_or_roots(&found) && !others_may_write(&found))
}

fn is_ours_or_roots(found: &Metadata) -> bool {
    found.uid() == 0 || found.uid() == geteuid().as_raw()
}

/// Whether nobody but this user and the administrator can change what a name leads to, here or in a folder above, or has
/// made one of the links on the way.
pub fn is_out_of_reach(path: &Path) -> bool {
    let is_safe = |folder: &Path| {
        fs::symlink_metadata(folder).is_ok_and(|found| {
            is_ours_or_roots(&found) && (!others_may_write(&found) || found.mode() & STICKY != 0)
        })
    };
    path.canonicalize().is_ok_and(|target| target.ancestors().all(is_safe)) && path.ancestors().all(is_safe)
}

fn others_may_write(found: &Metadata) -> bool {
    !found.is_symlink() && found.mode() & OTHERS_WRITE != 0
}

/// A folder for this user alone: made, or taken as it is where it is this user's already. Others lose the right to write.
pub fn private_folder(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(PRIVATE_FOLDER).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    let found = fs::symlink_metadata(path)?;
    if found.uid() != geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    if !found.is_dir() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it is not a folder"));
    }
    if others_may_write(&found) {
        fs::set_permissions(path, Permissions::from_mode(found.mode() & 0o777 & !OTHERS_WRITE))?;
    }
    Ok(())
}

/// Writes a file beside its place and moves it there: who reads it sees all of it, or what was there before. Nothing that
/// lies in the way is followed or written into.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_beside(path, bytes, OpenOptions::new().mode(PRIVATE_FILE), |_, fresh| fs::rename(fresh, path))
}

/// The same for a file that the user named: it is on the disk then, and has the permissions of the one it takes the place
/// of. Without `may_replace` there must be none.
pub fn write_for_user(path: &Path, bytes: &[u8], may_replace: bool) -> io::Result<()> {
    write_beside(path, bytes, &mut OpenOptions::new(), |file, fresh| {
        file.sync_all()?;
        if let Ok(there) = fs::metadata(path) {
            file.set_permissions(there.permissions())?;
        }
        if may_replace {
            return fs::rename(fresh, path);
        }
        match renameat_with(CWD, fresh, CWD, path, RenameFlags::NOREPLACE) {
            // Some file systems cannot.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => fs::rename(fresh, path),
            moved => Ok(moved?),
        }
    })
}

/// Writes a file beside `path` and has it moved there. Where that fails, nothing of it is left.
fn write_beside(
    path: &Path,
    bytes: &[u8],
    options: &mut OpenOptions,
    move_there: impl FnOnce(&File, &Path) -> io::Result<()>,
) -> io::Result<()> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}.part", std::process::id()));
    let fresh = Path::new(&fresh);
    options.write(true).create_new(true);
    let mut file = match options.open(fresh) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // Of a process that was killed, or put there.
            fs::remove_file(fresh)?;
            options.open(fresh)
        }
        opened => opened,
    }?;
    let written = file.write_all(bytes).and_then(|()| move_there(&file, fresh));
    if written.is_err() {
        let _ = fs::remove_file(fresh);
    }
    written
}

/// What a file of oomph's own holds, up to `longest` bytes; `None` where it is longer, or nothing that can be read at once:
/// a pipe, a device, a link.
pub fn read_bounded(path: &Path, longest: u64) -> Option<Vec<u8>> {
    fs::symlink_metadata(path).ok().filter(|found| !found.is_symlink())?;
    read_at_once(path, longest)
}

/// The same of a file that may be a link, since it is not oomph's.
pub fn read_at_once(path: &Path, longest: u64) -> Option<Vec<u8>> {
    let flags = OFlags::NONBLOCK.bits();
    let file = OpenOptions::new().read(true).custom_flags(i32::try_from(flags).ok()?).open(path).ok()?;
    let found = file.metadata().ok().filter(|found| found.is_file() && found.len() <= longest)?;
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).ok()?);
    File::take(file, longest).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_file_is_replaced_only_where_that_is_wanted_and_keeps_its_permissions() {
        let folder = std::env::temp_dir().join(format!("oomph-trust-{}", std::process::id()));
        fs::create_dir(&folder).expect("a new folder");
        let path = folder.join("out.txt");
        let write = |text: &str, may_replace| write_for_user(&path, text.as_bytes(), may_replace);
        write("first", false).expect("nothing is there");
        fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("it is ours");
        let refused = write("second", false).expect_err("the first is there");
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).expect("it stays"), "first");
        write("third", true).expect("it may be replaced");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "third");
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 1, "nothing is left beside it");
        fs::remove_dir_all(&folder).expect("it is ours");
    }
}
