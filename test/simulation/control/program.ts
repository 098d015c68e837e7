/** The plan of a seed: instances, commands of operators, and faults. */

import { createSeededRandom } from '@waybill/core/internal'
import type { FaultProfile } from '@waybill/sim'
import { Draw } from '../draw.ts'
import { type ChaosEvent, drawFaults, drawOutages, drawTimes, type Outage } from '../world/fault-plan.ts'

/** Kinds of chaos. TWIN: a second process of the same name starts. COMPACT: the log is compacted. */
export type ChaosKind = 'KILL' | 'FREEZE' | 'STOP' | 'TWIN' | 'COMPACT' | 'BROKER'

/** Commands of a seed. */
export type CommandType = 'START' | 'STOP' | 'PAUSE' | 'RESUME' | 'SEEK'

/** A command of an operator. */
export interface CommandPlan {
  readonly no: number
  readonly atMs: number
  readonly binding: string
  readonly type: CommandType
}

/** See the file's comment. */
export interface Program {
  readonly seed: number
  readonly brokers: number
  readonly instances: number
  readonly bindings: readonly string[]
  readonly commands: readonly CommandPlan[]
  readonly chaosMs: number
  /** Longest time in which a binding follows a command. */
  readonly applyMs: number
  /** Probability that a binding refuses a command that its state allows. */
  readonly refusals: number
  /** Longest difference between the wall clocks of two processes. */
  readonly skewMs: number
  readonly keepMs: number
  readonly faults: FaultProfile | false
  readonly outages: readonly Outage[]
  readonly chaos: readonly ChaosEvent<ChaosKind>[]
}

const apis = ['Produce', 'Fetch', 'ListOffsets', 'Metadata'] as const

export function drawProgram(seed: number): Program {
  const draw = new Draw(createSeededRandom(seed))
  const isQuiet = draw.chance(0.1)
  const chaosMs = draw.ms(20_000, 90_000)
  const bindings = ['orders', 'parcels'].slice(0, draw.integer(1, 2))
  const kinds = draw.some<ChaosKind>(['KILL', 'FREEZE', 'STOP', 'TWIN', 'COMPACT', 'BROKER'], 0.5)
  const drawHits = (): Outage['hits'] =>
    draw.chance(0.4)
      ? { api: draw.pick(apis), rates: { [draw.pick(['error', 'lostResponse', 'delay'] as const)]: 0.9 } }
      : draw.pick(['NODE', 'PROCESS'])
  return {
    seed,
    brokers: draw.integer(1, 3),
    instances: draw.integer(2, 4),
    bindings,
    commands: Array.from(
      { length: draw.integer(6, 30) },
      (_, no): CommandPlan => ({
        no,
        // Some come at the same moment, from several operators.
        atMs: draw.chance(0.3) ? Math.round(chaosMs / 2) : draw.ms(0, chaosMs),
        binding: draw.pick(bindings),
        type: draw.pick<CommandType>(['START', 'START', 'STOP', 'PAUSE', 'PAUSE', 'RESUME', 'RESUME', 'SEEK']),
      }),
    ).toSorted((one, other) => one.atMs - other.atMs),
    chaosMs,
    applyMs: draw.pick([1, 100, 3_000]),
    refusals: isQuiet ? 0 : draw.pick([0, 0, 0.05, 0.3]),
    skewMs: draw.pick([0, 1_000, 86_400_000]),
    keepMs: draw.pick([30_000, 600_000]),
    faults: isQuiet ? false : drawFaults(draw, { apis, kindRate: 0.5, apiRate: 0.4, highest: 0.1 }),
    outages: isQuiet ? [] : drawOutages(draw, { chaosMs, longestMs: 40_000 }, drawHits),
    chaos: isQuiet || kinds.length === 0 ? [] : drawTimes(draw, kinds, { most: 3, chaosMs }),
  }
}
