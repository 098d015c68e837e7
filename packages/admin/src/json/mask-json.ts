/** Hides values of a JSON text by their paths. The rest stays as it is written: parsing and writing would round numbers. */

type Step =
  | { readonly kind: 'MEMBER' | 'DEEP'; readonly name: string }
  /** Every item of a list. */
  | { readonly kind: 'ITEM' }

/** A path, and how many of its steps lead to the present value. */
interface Reached {
  readonly steps: readonly Step[]
  readonly at: number
}

/** A replacement in the text. */
interface Hidden {
  readonly from: number
  readonly until: number
}

const replacement = '"***"'
/** Deeper values are not read: a text of brackets must not overflow the stack. */
const maxDepth = 500

/**
 * Returns a JSON text without the values of these paths; undefined if it is not JSON, or nested too deep.
 * @param paths - `$.card.number`, `$.items[*].iban`, `$..email`
 */
export function maskJson(text: string, paths: readonly string[]): string | undefined {
  if (!isJson(text)) return undefined
  const hidden: Hidden[] = []
  const scan = new JsonScan(text, (from, until) => hidden.push({ from, until }))
  if (!scan.run(paths.map((path) => ({ steps: stepsOf(path), at: 0 })))) return undefined
  let result = ''
  let at = 0
  for (const { from, until } of hidden) {
    result += `${text.slice(at, from)}${replacement}`
    at = until
  }
  return result + text.slice(at)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function stepsOf(path: string): readonly Step[] {
  return [...path.matchAll(/(\.\.?)([A-Za-z_][\w-]*)|\[\*\]/g)].map(([, dots, name]): Step => {
    if (name === undefined) return { kind: 'ITEM' }
    return { kind: dots === '..' ? 'DEEP' : 'MEMBER', name }
  })
}

/** Returns the paths that lead to a member, or to an item of a list. */
function advanced(reached: readonly Reached[], name: string | undefined): readonly Reached[] {
  const all = reached.flatMap(({ steps, at }) => {
    const step = steps[at]
    if (step === undefined) return []
    const next = { steps, at: at + 1 }
    if (step.kind === 'ITEM') return name === undefined ? [next] : []
    const isNamed = step.name === name
    if (step.kind === 'MEMBER') return isNamed ? [next] : []
    return isNamed ? [{ steps, at }, next] : [{ steps, at }]
  })
  // Names that repeat on the way down reach the same step in many ways.
  return all.filter(({ steps, at }, index) => all.findIndex((one) => one.steps === steps && one.at === at) === index)
}

/** Walks over a text that is known to be JSON. */
class JsonScan {
  readonly #text: string
  readonly #hide: (from: number, until: number) => void
  #at = 0
  #isTooDeep = false

  constructor(text: string, hide: (from: number, until: number) => void) {
    this.#text = text
    this.#hide = hide
  }

  /** Returns false if the text is nested too deep. */
  run(reached: readonly Reached[]): boolean {
    this.#value(reached, 0)
    return !this.#isTooDeep
  }

  #value(reached: readonly Reached[], depth: number): void {
    this.#skipSpace()
    const from = this.#at
    const isHidden = reached.some(({ steps, at }) => at === steps.length)
    const inner = isHidden ? [] : reached
    const first = this.#text[this.#at]
    if (depth > maxDepth) this.#isTooDeep = true
    else if (first === '{') this.#members(inner, depth)
    else if (first === '[') this.#items(inner, depth)
    else if (first === '"') this.#string()
    else this.#word()
    if (isHidden) this.#hide(from, this.#at)
  }

  #members(reached: readonly Reached[], depth: number): void {
    while (!this.#isTooDeep && this.#text[this.#at] !== '}') {
      // The opening brace, or a comma.
      this.#at++
      this.#skipSpace()
      if (this.#text[this.#at] === '}') break
      const name = String(JSON.parse(this.#string()))
      this.#skipSpace()
      this.#at++
      this.#value(advanced(reached, name), depth + 1)
      this.#skipSpace()
    }
    this.#at++
  }

  #items(reached: readonly Reached[], depth: number): void {
    while (!this.#isTooDeep && this.#text[this.#at] !== ']') {
      this.#at++
      this.#skipSpace()
      if (this.#text[this.#at] === ']') break
      this.#value(advanced(reached, undefined), depth + 1)
      this.#skipSpace()
    }
    this.#at++
  }

  #string(): string {
    const from = this.#at++
    while (this.#text[this.#at] !== '"') this.#at += this.#text[this.#at] === '\\' ? 2 : 1
    this.#at++
    return this.#text.slice(from, this.#at)
  }

  /** A number, true, false or null. */
  #word(): void {
    while (this.#at < this.#text.length && !/[\s,\]}]/.test(this.#text[this.#at] ?? '')) this.#at++
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++
  }
}
