import { canonicalText, type JsonValue, jsonEquals } from './json.ts'

const indexes = new WeakMap<readonly JsonValue[], ReadonlySet<string>>()
const ids = new WeakMap<readonly JsonValue[], number>()
let lastId = 0

/** Shorter lists are looked through. */
const shortList = 8

/** Tells whether a list has a value. Long lists are indexed once. */
export function listHas(list: readonly JsonValue[], value: JsonValue): boolean {
  if (list.length <= shortList) return list.some((each) => jsonEquals(each, value))
  const known = indexes.get(list)
  const index = known ?? new Set(list.map(canonicalText))
  if (known === undefined) indexes.set(list, index)
  return index.has(canonicalText(value))
}

/** Returns a number that stands for a list, unique in the process: its text may be long. */
export function listId(list: readonly JsonValue[]): number {
  const known = ids.get(list)
  if (known !== undefined) return known
  lastId += 1
  ids.set(list, lastId)
  return lastId
}
