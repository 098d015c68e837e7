/**
 * Splits JSON into tokens without parsing it: a number stays the text that was written, so 9007199254740993 is not rounded,
 * and keys keep their order and their repetitions.
 */

/** A part of a JSON text. */
export interface JsonToken {
  readonly kind: 'key' | 'string' | 'number' | 'word' | 'mark' | 'space'
  readonly text: string
}

// oxlint-disable-next-line no-control-regex -- JSON has none in its strings
const pattern = /"(?:[^"\\\u0000-\u001f]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:]|[ \t\r\n]+/y

/** Returns the tokens; undefined if the text is not JSON. */
export function jsonTokens(text: string): readonly JsonToken[] | undefined {
  const tokens: JsonToken[] = []
  pattern.lastIndex = 0
  while (pattern.lastIndex < text.length) {
    const match = pattern.exec(text)
    if (match === null) return undefined
    tokens.push({ kind: kindOf(match[0]), text: match[0] })
  }
  return isWellFormed(tokens) ? withKeys(tokens) : undefined
}

function kindOf(text: string): JsonToken['kind'] {
  const first = text[0] ?? ''
  if (first === '"') return 'string'
  if (/[-\d]/.test(first)) return 'number'
  if (/[a-z]/.test(first)) return 'word'
  return /\s/.test(first) ? 'space' : 'mark'
}

/** Checks the order of tokens, as the grammar has it. */
function isWellFormed(tokens: readonly JsonToken[]): boolean {
  const open: string[] = []
  // The token that may come next: a value, a key, a colon, or the end of a value.
  let expects: 'value' | 'first value' | 'key' | 'first key' | 'colon' | 'end' = 'value'
  for (const { kind, text } of tokens) {
    if (kind === 'space') continue
    if (expects === 'colon') {
      if (text !== ':') return false
      expects = 'value'
    } else if (expects === 'end') {
      const inside = open.at(-1)
      if (inside !== undefined && text === ',') expects = inside === '{' ? 'key' : 'value'
      else if ((inside === '{' && text === '}') || (inside === '[' && text === ']')) open.pop()
      else return false
    } else if (expects === 'key' || expects === 'first key') {
      if (kind === 'string') expects = 'colon'
      else if (expects === 'first key' && text === '}') {
        open.pop()
        expects = 'end'
      } else return false
    } else if (text === '{' || text === '[') {
      open.push(text)
      expects = text === '{' ? 'first key' : 'first value'
    } else if (expects === 'first value' && text === ']') {
      open.pop()
      expects = 'end'
    } else if (kind === 'mark') return false
    else expects = 'end'
  }
  return open.length === 0 && expects === 'end'
}

function withKeys(tokens: readonly JsonToken[]): JsonToken[] {
  const solid = tokens.filter(({ kind }) => kind !== 'space')
  return solid.map((token, at) =>
    token.kind === 'string' && solid[at + 1]?.text === ':' ? { kind: 'key', text: token.text } : token,
  )
}

/** Deeper lines are not moved further: a value of brackets alone would grow with the square of its depth. */
const maxDepth = 40

/** Returns the tokens with line breaks and indents between them, for reading. */
export function indented(tokens: readonly JsonToken[], indent = '  '): readonly JsonToken[] {
  const result: JsonToken[] = []
  const space = (text: string): void => void result.push({ kind: 'space', text })
  let depth = 0
  for (const [at, token] of tokens.entries()) {
    const { text } = token
    const next = tokens[at + 1]?.text
    const isClosing = text === '}' || text === ']'
    if (isClosing) depth--
    if (isClosing && !isEmptyBefore(tokens, at)) space(`\n${indent.repeat(Math.min(depth, maxDepth))}`)
    result.push(token)
    if (text === '{' || text === '[') {
      depth++
      if (next !== '}' && next !== ']') space(`\n${indent.repeat(Math.min(depth, maxDepth))}`)
    } else if (text === ',') space(`\n${indent.repeat(Math.min(depth, maxDepth))}`)
    else if (text === ':') space(' ')
  }
  return result
}

function isEmptyBefore(tokens: readonly JsonToken[], at: number): boolean {
  const before = tokens[at - 1]?.text
  return before === '{' || before === '['
}
