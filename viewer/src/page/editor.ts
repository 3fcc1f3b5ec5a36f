// The address that opens a line of a file in the user's editor.

const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;
/** Schemes that are not an editor's. */
const OTHERS = /^(?:https?|file|ftp|wss?|javascript|data|blob):/i;

/**
 * Returns the address of a line; `null` without an editor or a file. In the template, `%f` stands for the path and `%l` for the
 * line, as in Rails.
 */
export function editorLink(template: string | undefined, path: string | null, line: number | null): string | null {
  if (!template || !SCHEME.test(template) || OTHERS.test(template) || !path?.startsWith("/")) return null;
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  return template.replace(/%[fl]/g, (it) => (it === "%f" ? encoded : String(line ?? 1)));
}
