import { createSeededRandom } from '@waybill/core/internal'
import { canonicalText, type JsonObject, type JsonValue } from '../schema/json.ts'
import { readSchema } from '../schema/read-schema.ts'
import { createEvaluator } from '../validate/evaluate.ts'
import { ValueDrawer } from './value-drawer.ts'

/** How many events to generate. */
export interface SampleOptions {
  readonly count: number
  /** Equal seeds give equal events. @defaultValue 1 */
  readonly seed?: number | undefined
}

/** Draws for each event that is wanted: most are repetitions, or do not fit a condition. */
const drawsPerEvent = 6

/**
 * Generates different events that a writer of a schema may write: declared members only, checked against the schema. The first
 * ones have no optional members, and all of them. Fewer come back if no more are found.
 */
export function sampleEvents(schema: JsonObject, { count, seed = 1 }: SampleOptions): readonly JsonValue[] {
  const { root } = readSchema(schema)
  const evaluate = createEvaluator({ assertsFormat: true })
  const drawer = new ValueDrawer(createSeededRandom(seed), { stray: false })
  const found = new Map<string, JsonValue>()
  for (let drawn = 0; found.size < count && drawn < count * drawsPerEvent; drawn += 1) {
    const value = drawer.draw([root], 0, fills[drawn])
    const text = canonicalText(value)
    if (!found.has(text) && evaluate(root, value) === 'YES') found.set(text, value)
  }
  return [...found.values()]
}

/** Shares of optional members in the first events; later ones draw it. */
const fills: readonly number[] = [0, 1, 0, 1]
