/**
 * Shows characters that change how others are read: control characters, and those that turn the direction of writing. A text
 * of a stranger must look like what it is.
 */

/** A part of a text. */
export interface TextPart {
  readonly text: string
  /** The code of a character that is named instead of drawn. */
  readonly code?: string
}

// Tab and line feed are drawn; the rest of C0, C1, bidi controls, zero widths, tags and lone surrogates are named.
const hidden =
  // oxlint-disable-next-line no-control-regex -- they are what is searched
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\ud800-\udfff]/gu

/** Each named character is an element of the page. Those beyond are drawn as one that is not known. */
const maxNamed = 500

/** Splits a text at the characters that are named. */
export function inertParts(text: string): readonly TextPart[] {
  const parts: TextPart[] = []
  let at = 0
  let named = 0
  for (const match of text.matchAll(hidden)) {
    if (++named > maxNamed) {
      parts.push({ text: text.slice(at).replace(hidden, '\ufffd') })
      return parts
    }
    if (match.index > at) parts.push({ text: text.slice(at, match.index) })
    const code = (match[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
    parts.push({ text: match[0], code: `U+${code}` })
    at = match.index + match[0].length
  }
  if (at < text.length) parts.push({ text: text.slice(at) })
  return parts
}
