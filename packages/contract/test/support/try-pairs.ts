import { type ContractFinding, compareSchemas, contractRules } from '@waybill/contract'
import { withoutUndeclared } from '@waybill/core/internal'
import { ValueDrawer } from '../../src/sample/value-drawer.ts'
import type { JsonObject, JsonValue } from '../../src/schema/json.ts'
import { readSchema } from '../../src/schema/read-schema.ts'
import { createEvaluator } from '../../src/validate/evaluate.ts'
import { judgeOf } from './judge.ts'
import { SchemaDrawer, seeded } from './random-schema.ts'

/** How many pairs are tried, and how hard. */
export interface PairsOptions {
  readonly pairs: number
  readonly from: number
  /** Events drawn for each pair and direction that was called compatible. */
  readonly events: number
  /** Every so many examples of findings are judged by ajv; the others by our own validator. */
  readonly judgedEvery: number
}

/** Findings of one class that nothing proved: neither the checker's own example, nor an event that was drawn. */
export interface AlarmClass {
  /** Directions of pairs with such findings alone. */
  alarms: number
  /** Those for which drawing found an event that the reader refuses. */
  drawn: number
  /** The seed of one that stayed without proof. */
  seed?: number
}

/** The results of a run. A direction of a pair is one comparison. */
export interface PairsTally {
  pairs: number
  compatible: number
  broken: number
  /** Events that a writer writes, drawn for comparisons that were called compatible; ajv judged each for the reader. */
  events: number
  /** Comparisons called compatible for which no event could be drawn. */
  untried: number
  /** Comparisons with a writer of which the checker says that no event fits it; none could be drawn either. */
  vacuous: number
  examplesByAjv: number
  /** Compatible, and a reader refuses an event: must stay empty. */
  readonly letThrough: string[]
  /** An example that its writer does not write, or that its reader accepts: must stay empty. */
  readonly wrongExamples: string[]
  readonly alarms: Record<string, AlarmClass>
}

const directions = ['BACKWARD', 'FORWARD'] as const
type Direction = (typeof directions)[number]

/** Findings about something else than the acceptance of events. */
const notes = new Set(
  [contractRules.defaultChanged, contractRules.noDefault, contractRules.looksRenamed].map(({ code }) => code),
)

/** Compares random pairs of schemas in both directions, and tries the verdicts with events. */
export function tryPairs(options: PairsOptions, tick: (tally: PairsTally) => void = () => {}): PairsTally {
  const tally: PairsTally = {
    pairs: 0,
    compatible: 0,
    broken: 0,
    events: 0,
    untried: 0,
    vacuous: 0,
    examplesByAjv: 0,
    letThrough: [],
    wrongExamples: [],
    alarms: {},
  }
  for (let seed = options.from; seed < options.from + options.pairs; seed += 1) {
    tryPair(seed, options, tally)
    tally.pairs += 1
    tick(tally)
  }
  return tally
}

function tryPair(seed: number, options: PairsOptions, tally: PairsTally): void {
  const chance = seeded(seed)
  const drawer = new SchemaDrawer(chance)
  const older = drawer.event()
  const newer = drawer.changed(older)
  const compare = (mode: Direction | 'FULL'): readonly ContractFinding[] =>
    compareSchemas(older, newer, { mode, format: 'ASSERTION', isSameVersion: false }).filter(
      ({ code }) => !notes.has(code),
    )
  const found = { BACKWARD: compare('BACKWARD'), FORWARD: compare('FORWARD') }
  for (const direction of directions) {
    const [writer, reader] = direction === 'BACKWARD' ? [older, newer] : [newer, older]
    const trial = new Trial(writer, reader, chance)
    const findings = found[direction]
    const say = (value: JsonValue): string => JSON.stringify({ seed, direction, older, newer, value })
    const example = findings.find((finding) => finding.example !== undefined)?.example
    if (findings.length === 0) {
      tally.compatible += 1
      const { refused, written } = trial.draw(options.events)
      tally.events += written
      tally.untried += Number(written === 0)
      if (refused !== undefined) tally.letThrough.push(say(refused))
    } else if (example === undefined) {
      const drawn = trial.draw(options.events)
      if (findings.every(({ code }) => code === contractRules.nothingFits.code)) {
        tally.vacuous += 1
        if (drawn.written > 0) tally.letThrough.push(say('an event fits the writer'))
      } else countAlarm(findings, seed, drawn, tally)
    } else {
      tally.broken += 1
      const byAjv = tally.broken % options.judgedEvery === 0
      tally.examplesByAjv += Number(byAjv)
      if (!trial.isBreak(example, byAjv)) tally.wrongExamples.push(say(example))
    }
  }
  if (found.BACKWARD.length + found.FORWARD.length > 0) return
  const inWords = compare('FULL')
  if (inWords.length > 0) countAlarm(inWords, seed, { refused: undefined, written: 0 }, tally)
}

function countAlarm(
  findings: readonly ContractFinding[],
  seed: number,
  { refused }: Drawn,
  { alarms }: PairsTally,
): void {
  const classes = [...new Set(findings.map(classOf))].toSorted()
  const counted = (alarms[classes.join(' + ')] ??= { alarms: 0, drawn: 0 })
  counted.alarms += 1
  if (refused === undefined) counted.seed ??= seed
  else counted.drawn += 1
}

/** Findings of the policy alone have one class each; what cannot be told, one for each keyword. */
function classOf({ code, message }: ContractFinding): string {
  if (code !== contractRules.cannotTell.code) return code
  const [what = ''] = message.split(/ of |:/)
  return `${code} ${/^[a-zA-Z, ]{3,30}$/.test(what) ? what : 'whole'}`
}

interface Drawn {
  readonly refused: JsonValue | undefined
  readonly written: number
}

/** One writer and one reader. A writer writes what fits its schema and has declared members only, as encodeEvent says. */
class Trial {
  readonly #writer: JsonObject
  readonly #reader: JsonObject
  readonly #chance: () => number

  constructor(writer: JsonObject, reader: JsonObject, chance: () => number) {
    this.#writer = writer
    this.#reader = reader
    this.#chance = chance
  }

  /** Draws events of the writer until ajv says that the reader refuses one. */
  draw(events: number): Drawn {
    const reads = judgeOf(this.#reader)
    const writes = ourJudgeOf(this.#writer)
    const [near, far] = [readSchema(this.#writer).root, readSchema(this.#reader).root]
    const values = new ValueDrawer(this.#chance, { stray: true })
    let written = 0
    for (let tried = 0; written < events && tried < 3 * events; tried += 1) {
      const value = values.draw(tried % 3 === 0 ? [near, far] : [near])
      if (!writes(value) || !this.#isDeclared(value)) continue
      written += 1
      if (!reads(value)) return { refused: value, written }
    }
    return { refused: undefined, written }
  }

  isBreak(example: JsonValue, byAjv: boolean): boolean {
    const judge = byAjv ? judgeOf : ourJudgeOf
    return judge(this.#writer)(example) && this.#isDeclared(example) && !judge(this.#reader)(example)
  }

  #isDeclared(value: JsonValue): boolean {
    return withoutUndeclared(this.#writer, value).undeclared.length === 0
  }
}

function ourJudgeOf(schema: object): (value: JsonValue) => boolean {
  const evaluate = createEvaluator({ assertsFormat: true })
  const { root } = readSchema(schema)
  return (value) => evaluate(root, value) === 'YES'
}
