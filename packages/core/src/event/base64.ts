/** The bytes of a base64 text with its padding, or undefined when it is none: Node's own decoding skips what it dislikes. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}
