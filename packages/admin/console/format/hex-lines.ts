/** Bytes as people read them. */

/** A line of sixteen bytes. */
export interface HexLine {
  readonly offset: string
  readonly hex: string
  readonly text: string
}

const width = 16

/** Returns lines of a page of bytes. */
export function hexLines(bytes: Uint8Array, from: number, lines: number): readonly HexLine[] {
  const result: HexLine[] = []
  for (let at = from; at < bytes.length && result.length < lines; at += width) {
    const part = [...bytes.subarray(at, at + width)]
    result.push({
      offset: at.toString(16).padStart(8, '0'),
      hex: part.map((byte, index) => `${byte.toString(16).padStart(2, '0')}${index === 7 ? ' ' : ''}`).join(' '),
      text: part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '·')).join(''),
    })
  }
  return result
}

/** Returns the bytes of a text of the API. */
export function bytesOf(given: { readonly encoding: string; readonly text: string }): Uint8Array {
  if (given.encoding !== 'base64') return new TextEncoder().encode(given.text)
  return Uint8Array.from(atob(given.text), (char) => char.charCodeAt(0))
}
