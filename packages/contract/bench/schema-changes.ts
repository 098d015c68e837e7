/**
 * `npm run schema-changes -- FILE…`: compares changes of schemas that other projects wrote as their own tests. Each file is a JSON
 * list of `{ source, name, older, newer, backward }`; `backward` is the verdict of that project, or null where it gives none.
 * docs/reference/contract-rules.md names the projects, whose licenses do not all allow to copy their tests into this repository.
 *
 * Fails if an event of the older schema is refused by a newer one that was called compatible, or below 97 % right verdicts.
 */

import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { compareSchemas, contractRules } from '@waybill/contract'
import { nearMisses } from '../src/sample/near-misses.ts'
import { ValueDrawer } from '../src/sample/value-drawer.ts'
import { canonicalText, type JsonValue } from '../src/schema/json.ts'
import { readSchema } from '../src/schema/read-schema.ts'
import { anyDialectJudgeOf } from '../test/support/any-dialect-judge.ts'
import { seeded } from '../test/support/random-schema.ts'

interface SchemaChange {
  readonly source: string
  readonly name: string
  readonly older: JsonValue
  readonly newer: JsonValue
  readonly backward: boolean | null
}

/** How a verdict on one change compares with the other evidence. */
type Score =
  | 'RIGHT_COMPATIBLE'
  | 'RIGHT_BREAKING'
  | 'LET_THROUGH'
  | 'CANNOT_TELL'
  | 'UNPROVEN_BREAK'
  | 'WRONG_EXAMPLE'
  | 'NO_SCHEMA'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { events: { type: 'string', default: '400' }, list: { type: 'string', default: '' } },
})
const events = Number(values.events)
const scores = new Map<Score, number>()
const disputes = new Map<string, number>()
const seen = new Set<string>()

for (const change of positionals.flatMap((path) => JSON.parse(readFileSync(path, 'utf8')) as SchemaChange[])) {
  const key = canonicalText([change.older, change.newer])
  if (seen.has(key)) continue
  seen.add(key)
  const { score, says, why } = judge(change)
  scores.set(score, (scores.get(score) ?? 0) + 1)
  const isDisputed = change.backward !== null && says !== null && says !== change.backward
  if (isDisputed) {
    const side = `${change.source} says ${change.backward ? 'compatible' : 'breaking'}, we say the opposite (${score})`
    disputes.set(side, (disputes.get(side) ?? 0) + 1)
  }
  if (values.list !== '' && (score === values.list || (isDisputed && values.list === 'DISPUTED')))
    process.stdout.write(`${JSON.stringify({ score, why, ...change })}\n`)
}

const [right, total] = [count('RIGHT_COMPATIBLE') + count('RIGHT_BREAKING'), seen.size - count('NO_SCHEMA')]
process.stdout.write(
  `${JSON.stringify({ changes: seen.size, judged: total, ...Object.fromEntries(scores), right: (right / total).toFixed(4) })}\n`,
)
for (const [side, times] of [...disputes].toSorted(([one], [other]) => one.localeCompare(other)))
  process.stdout.write(`${times} times ${side}\n`)
process.exitCode = count('LET_THROUGH') + count('WRONG_EXAMPLE') === 0 && right / total >= 0.97 ? 0 : 1

function count(score: Score): number {
  return scores.get(score) ?? 0
}

interface Verdict {
  readonly score: Score
  /** Whether we call the change compatible; null where we cannot tell. */
  readonly says: boolean | null
  readonly why: unknown
}

function judge(change: SchemaChange): Verdict {
  try {
    return judgeCompiled(change)
  } catch (error) {
    // A reference that leads back to its own value has no meaning: ajv overflows the stack.
    if (!(error instanceof RangeError)) throw error
    return { score: 'NO_SCHEMA', says: null, why: 'ajv does not end' }
  }
}

function judgeCompiled({ older, newer }: SchemaChange): Verdict {
  const [writes, reads] = [anyDialectJudgeOf(older), anyDialectJudgeOf(newer)]
  if (writes === undefined || reads === undefined || !isSchema(older) || !isSchema(newer))
    return { score: 'NO_SCHEMA', says: null, why: 'ajv does not compile it' }
  const findings = compareSchemas(older, newer, { mode: 'BACKWARD', writer: 'ANY', isSameVersion: false }).filter(
    ({ code }) => code !== contractRules.defaultChanged.code && code !== contractRules.looksRenamed.code,
  )
  const isVacuous = findings.length > 0 && findings.every(({ code }) => code === contractRules.nothingFits.code)
  const refused = drawRefused(older, newer, writes, reads)
  if (findings.length === 0 || isVacuous)
    return refused === undefined
      ? { score: 'RIGHT_COMPATIBLE', says: true, why: null }
      : { score: 'LET_THROUGH', says: true, why: refused.value }
  const example = findings.find((finding) => finding.example !== undefined)?.example
  if (example !== undefined)
    return writes(example) && !reads(example)
      ? { score: 'RIGHT_BREAKING', says: false, why: example }
      : { score: 'WRONG_EXAMPLE', says: false, why: example }
  const why = findings.map(({ code, message }) => `${code} ${message}`)
  if (refused !== undefined) return { score: 'RIGHT_BREAKING', says: false, why: refused.value }
  return {
    score: findings.some(({ code }) => code === contractRules.cannotTell.code) ? 'CANNOT_TELL' : 'UNPROVEN_BREAK',
    says: null,
    why,
  }
}

/** Draws events near both schemas until one is written and refused. */
function drawRefused(
  older: object | boolean,
  newer: object | boolean,
  writes: (value: JsonValue) => boolean,
  reads: (value: JsonValue) => boolean,
): { readonly value: JsonValue } | undefined {
  const [near, far] = [readSchema(older).root, readSchema(newer).root]
  const drawer = new ValueDrawer(seeded(7), { stray: true })
  for (let tried = 0; tried < events; tried += 1) {
    const drawn = drawer.draw(tried % 3 === 0 ? [near, far] : tried % 3 === 1 ? [near] : [far])
    for (const value of [drawn, ...[...nearMisses(drawn)].slice(0, 20)])
      if (writes(value) && !reads(value)) return { value }
  }
  return undefined
}

function isSchema(value: JsonValue): value is boolean | Readonly<Record<string, JsonValue>> {
  return typeof value === 'boolean' || (typeof value === 'object' && value !== null && !Array.isArray(value))
}
