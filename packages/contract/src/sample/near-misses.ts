import { isJsonObject, type JsonValue } from '../schema/json.ts'

/** Returns values that differ from a value in one place: a member less, letters in the other case, a number as text. */
export function* nearMisses(value: JsonValue): Generator<JsonValue> {
  if (typeof value === 'string') {
    const swapped = swapCase(value)
    if (swapped !== value) yield swapped
    yield Number.isFinite(Number(value)) && value !== '' ? Number(value) : `${value} `
  } else if (typeof value === 'number') yield String(value)
  else if (typeof value === 'boolean') yield String(value)
  else if (isJsonObject(value)) yield* membersMissed(value)
  else if (Array.isArray(value))
    for (const [index, item] of (value as readonly JsonValue[]).entries())
      for (const missed of nearMisses(item)) yield (value as readonly JsonValue[]).with(index, missed)
}

function* membersMissed(value: Readonly<Record<string, JsonValue>>): Generator<JsonValue> {
  for (const [name, member] of Object.entries(value)) {
    yield Object.fromEntries(Object.entries(value).filter(([other]) => other !== name))
    for (const missed of nearMisses(member)) yield { ...value, [name]: missed }
  }
}

function swapCase(text: string): string {
  return Array.from(text, (sign) => (sign === sign.toUpperCase() ? sign.toLowerCase() : sign.toUpperCase())).join('')
}
