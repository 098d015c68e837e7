/** Lists the differences of two JSON texts by path. Pure. */

/** A value that differs; null where it is missing. */
export interface JsonDifference {
  readonly path: string
  readonly from: string | null
  readonly to: string | null
}

const maxDifferences = 100
const maxCharacters = 200

/** Returns the differences, at most 100; the whole text if one of both is not JSON. */
export function jsonDiff(from: string, to: string): readonly JsonDifference[] {
  const [one, other] = [parsed(from), parsed(to)]
  if (one === undefined || other === undefined) return from === to ? [] : [{ path: '$', from: cut(from), to: cut(to) }]
  const found: JsonDifference[] = []
  compare(one.value, other.value, '$', found)
  return found
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

function compare(from: unknown, to: unknown, path: string, found: JsonDifference[]): void {
  if (found.length >= maxDifferences) return
  if (isObject(from) && isObject(to) && Array.isArray(from) === Array.isArray(to)) {
    for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
      const at = Array.isArray(from) ? `${path}[${key}]` : `${path}.${key}`
      compare(own(from, key), own(to, key), at, found)
    }
    return
  }
  const [before, after] = [written(from), written(to)]
  if (before !== after) found.push({ path: cut(path), from: before, to: after })
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function own(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined
}

function written(value: unknown): string | null {
  return value === undefined ? null : cut(JSON.stringify(value))
}

function cut(text: string): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text
}
