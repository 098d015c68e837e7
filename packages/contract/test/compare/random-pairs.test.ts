/**
 * Random schemas and small changes of them. What the checker calls compatible must hold for generated events, with ajv as
 * judge. `WAYBILL_SCHEMA_PAIRS=100000 npx vitest run packages/contract/test/compare/random-pairs.test.ts` runs many more.
 */
import { expect, test } from 'vitest'
import type { JsonValue } from '../../src/schema/json.ts'
import { readSchema } from '../../src/schema/read-schema.ts'
import type { SchemaNode } from '../../src/schema/schema-node.ts'
import { createEvaluator } from '../../src/validate/evaluate.ts'
import { ValueDrawer } from '../support/draw-value.ts'
import { findDifference } from '../support/find-difference.ts'
import { closed, judgeOf } from '../support/judge.ts'
import { SchemaDrawer, seeded } from '../support/random-schema.ts'

const given = process.env['WAYBILL_SCHEMA_PAIRS']
const pairs = given === undefined ? 5_000 : Number(given)
/** Compiling a schema with ajv takes longer than comparing it, so ajv judges a part; our own validator judges the rest. */
const judgedEvery = 40
const seed = 20_261_118

/** Draws events of a pair that was called compatible and counts those that its reader refuses. */
function crossValidate(pair: Pair, chance: () => number): number {
  const values = new ValueDrawer(chance)
  let events = 0
  for (let tried = 0; tried < 20; tried += 1) {
    const value = values.draw(tried % 3 === 0 ? [pair.older, pair.newer] : [pair.older])
    if (!pair.writes(value)) continue
    events += 1
    expect(pair.reads(value) ? 'read' : pair.say(value)).toBe('read')
  }
  return events
}

interface Pair {
  readonly older: SchemaNode
  readonly newer: SchemaNode
  readonly writes: (value: JsonValue) => boolean
  readonly reads: (value: JsonValue) => boolean
  readonly say: (value: JsonValue) => string
}

test(
  'S2-072 what is called compatible never fails cross-validation of generated events',
  () => {
    const counts = { compatible: 0, broken: 0, unknown: 0, events: 0, judgedByAjv: 0 }
    const evaluate = createEvaluator({ assertsFormat: false })
    for (let index = 0; index < pairs; index += 1) {
      const chance = seeded(seed + index)
      const drawer = new SchemaDrawer(chance)
      const older = drawer.event()
      const newer = drawer.changed(older)
      const [before, after] = [readSchema(older), readSchema(newer)]
      const byAjv = index % judgedEvery === 0
      const reads = byAjv ? judgeOf(newer) : (value: JsonValue) => evaluate(after.root, value) === 'YES'
      for (const writer of ['ANY', 'DECLARED'] as const) {
        const difference = findDifference(before.root, after.root, [before, after], { writer })
        const say = (value: unknown): string =>
          `seed ${seed + index}, ${writer}: ${JSON.stringify({ older, newer, value })}`
        const written = writer === 'ANY' ? older : (closed(older) as object)
        const closedRoot = readSchema(written).root
        const writes = byAjv ? judgeOf(written) : (value: JsonValue) => evaluate(closedRoot, value) === 'YES'
        counts.judgedByAjv += Number(byAjv)
        if (difference.kind === 'UNKNOWN') counts.unknown += 1
        else if (difference.kind === 'FOUND') {
          counts.broken += 1
          expect(writes(difference.example) ? 'written' : say(difference.example)).toBe('written')
          expect(reads(difference.example) ? say(difference.example) : 'refused').toBe('refused')
        } else {
          counts.compatible += 1
          counts.events += crossValidate({ older: before.root, newer: after.root, writes, reads, say }, chance)
        }
      }
    }
    process.stdout.write(`${pairs} pairs: ${JSON.stringify(counts)}\n`)
    expect(counts.unknown / (2 * pairs)).toBeLessThan(0.01)
    expect(counts.compatible).toBeGreaterThan(pairs / 4)
    expect(counts.broken).toBeGreaterThan(pairs / 4)
  },
  given === undefined ? 60_000 : 6_000_000,
)
