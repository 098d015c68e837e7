/** Reduces messages of errors to what they have in common: two failures with one cause differ in their ids. Pure. */

/** A longer text is cut before it is read: its beginning identifies the failure. */
const maxReadCharacters = 2_000
const maxCharacters = 200

/** Letters and digits around an id would make it a part of a word. */
const before = '(?<![0-9A-Za-z])'
const after = '(?![0-9A-Za-z])'

const uuid = new RegExp(`${before}[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}${after}`, 'gi')
/** ULIDs, long hashes and random ids: letters and digits mixed. */
const longId = new RegExp(`${before}(?=[A-Za-z]*\\d)(?=\\d*[A-Za-z])[0-9A-Za-z]{16,}${after}`, 'g')
/** At least one letter: digits alone are a number, whatever their count. */
const hex = new RegExp(`${before}(?:0x[0-9a-f]+|(?=\\d*[a-f])[0-9a-f]{8,})${after}`, 'gi')
/** An apostrophe inside of a word quotes nothing. */
const quoted = /"[^"]*"|`[^`]*`|(?<![0-9A-Za-z])'[^']*'(?![0-9A-Za-z])/g
const url = /([a-z][a-z0-9+.-]{0,20}:\/\/)([^\s/?#"'`]*)[^\s"'`]*/gi

/** Returns a message without what differs between occurrences: numbers, ids, quoted texts, paths of URLs. */
export function normalizeMessage(message: string): string {
  return message
    .slice(0, maxReadCharacters)
    .replace(/\s+/g, ' ')
    .trim()
    .replace(url, '$1$2/<path>')
    .replace(quoted, '<text>')
    .replace(uuid, '<id>')
    .replace(longId, '<id>')
    .replace(hex, '<id>')
    .replace(/\d+/g, '#')
    .slice(0, maxCharacters)
    .trim()
}
