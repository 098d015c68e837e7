import { pointerKeys } from '../schema/json.ts'

/** Returns the line of a place in a JSON text, from 1; of the nearest place around it where it is not there. */
export function lineOfPointer(text: string, pointer: string): number {
  const scan = new Scan(text, pointerKeys(pointer))
  scan.value(0, true)
  return text.slice(0, scan.found).split('\n').length
}

/** Reads a JSON text and remembers where the deepest part of the path begins. */
class Scan {
  found = 0
  readonly #text: string
  readonly #path: readonly string[]
  #at = 0

  constructor(text: string, path: readonly string[]) {
    this.#text = text
    this.#path = path
  }

  /** `isOnPath` is true while all keys so far were those of the path. */
  value(depth: number, isOnPath: boolean): void {
    const opening = this.#peek()
    if (opening === '{' || opening === '[') this.#members(depth, isOnPath, opening === '{')
    else this.#scalar()
  }

  #members(depth: number, isOnPath: boolean, isObject: boolean): void {
    const closing = isObject ? '}' : ']'
    this.#at += 1
    for (let index = 0; this.#at < this.#text.length; index += 1) {
      if (this.#peek() === closing) break
      const start = this.#at
      const key = isObject ? (JSON.parse(this.#scalar()) as string) : String(index)
      if (isObject) this.#skip(':')
      const matches = isOnPath && this.#path[depth] === key
      if (matches) this.found = start
      this.value(depth + 1, matches)
      this.#skip(',')
    }
    this.#at += 1
  }

  #scalar(): string {
    this.#peek()
    const scalar = /"(?:[^"\\]|\\.)*"|[^\s,:{}[\]"]+/y
    scalar.lastIndex = this.#at
    const [found = ''] = scalar.exec(this.#text) ?? []
    this.#at += Math.max(1, found.length)
    return found
  }

  #skip(sign: string): void {
    if (this.#peek() === sign) this.#at += 1
  }

  #peek(): string | undefined {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at += 1
    return this.#text[this.#at]
  }
}
