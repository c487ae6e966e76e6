//! The packages of modules that scripts import.

use crate::listed::{ListedPackage, Registry};

/// Modules of Python whose packages have other names.
const PYTHON_PACKAGES: [(&str, &str); 24] = [
    ("Crypto", "pycryptodome"),
    ("OpenSSL", "pyOpenSSL"),
    ("PIL", "pillow"),
    ("attr", "attrs"),
    ("bs4", "beautifulsoup4"),
    ("cv2", "opencv-python-headless"),
    ("dateutil", "python-dateutil"),
    ("discord", "discord.py"),
    ("docx", "python-docx"),
    ("dotenv", "python-dotenv"),
    ("fitz", "PyMuPDF"),
    ("git", "GitPython"),
    ("github", "PyGithub"),
    ("jwt", "PyJWT"),
    ("magic", "python-magic"),
    ("pptx", "python-pptx"),
    ("serial", "pyserial"),
    ("skimage", "scikit-image"),
    ("sklearn", "scikit-learn"),
    ("slugify", "python-slugify"),
    ("telegram", "python-telegram-bot"),
    ("usb", "pyusb"),
    ("yaml", "PyYAML"),
    ("zmq", "pyzmq"),
];
/// Modules of Python that are part of it, or that many packages share, so that none can be named.
const NO_PACKAGES: [&str; 9] = [
    "azure",
    "curses",
    "distutils",
    "ensurepip",
    "google",
    "imp",
    "pip",
    "tkinter",
    "venv",
];

/// Returns the package to which a module belongs that an interpreter did not find, such as
/// `PIL.Image` or `@scope/name/file`; `None` if no package can be named. A program wrote the name,
/// so it is a hint for a person, who sees the package before it is installed.
#[must_use]
pub fn package_of_module(registry: Registry, module: &str) -> Option<ListedPackage> {
    let name = match registry {
        Registry::Pypi => {
            let top = module.split('.').next().unwrap_or(module);
            let is_private = top.starts_with('_');
            let known = PYTHON_PACKAGES.iter().find(|(module, _)| *module == top);
            let has_package = !is_private && !NO_PACKAGES.contains(&top);
            known
                .map(|(_, package)| *package)
                .or(has_package.then_some(top))?
        }
        Registry::Npm => {
            let parts = if module.starts_with('@') { 2 } else { 1 };
            let end = module.match_indices('/').nth(parts - 1);
            &module[..end.map_or(module.len(), |(index, _)| index)]
        }
    };
    ListedPackage::of_registry(registry, name, "settings").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_belong_to_packages() {
        let python = |module| Some(package_of_module(Registry::Pypi, module)?.to_string());
        assert_eq!(python("PIL.Image").as_deref(), Some("pillow"));
        assert_eq!(python("pypdf").as_deref(), Some("pypdf"));
        assert_eq!(python("python-pptx").as_deref(), Some("python-pptx"));
        for module in ["google.cloud", "_ctypes", "tkinter", "", "a b", "-x"] {
            assert_eq!(python(module), None, "{module}");
        }
        let node = |module| Some(package_of_module(Registry::Npm, module)?.to_string());
        assert_eq!(node("docx/build").as_deref(), Some("npm:docx"));
        assert_eq!(node("@a/b/c").as_deref(), Some("npm:@a/b"));
        assert_eq!(node("@a"), None);
        assert_eq!(node("/x"), None);
    }
}
