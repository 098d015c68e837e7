/**
 * An operator who moves positions: stops a binding in every process but one, where it is paused or stopped too, issues
 * the command there, and resumes all. A member that joins the group meanwhile makes the cluster refuse it, which is
 * correct.
 */

import type { PositionAnswer, PositionCommand, PositionTarget } from '@waybill/connector/internal'
import type { BindingPlan } from './binding-plan.ts'
import type { ConnectorProcess } from './connector-process.ts'
import { type Place, placesOf } from './places.ts'
import type { World } from './world.ts'

type Kind = PositionCommand['type']

/** Delay before a failed start is retried. */
const againMs = 500

/** See the file's comment. */
export class PositionOperator {
  readonly #world: World
  /** Bindings with a command in progress. */
  readonly #atWork = new Set<string>()

  constructor(world: World) {
    this.#world = world
  }

  /** True when a binding is stopped because of a move. */
  get isBusy(): boolean {
    return this.#atWork.size > 0
  }

  async move(kind: Kind, processes: readonly ConnectorProcess[]): Promise<void> {
    const { draw, program } = this.#world
    const binding = draw.pick(program.bindings)
    const { name } = binding
    const started = processes.filter((process) => process.isStarted && process.has(name))
    if (started.length === 0 || this.#atWork.has(name)) return
    const desk = draw.pick(started)
    const staysPaused = draw.chance(0.5)
    this.#atWork.add(name)
    await Promise.all(
      started.map((one) => (one === desk && staysPaused ? pause(one, name, () => this.#world.now()) : away(one, name))),
    )
    await this.#command(kind, binding, desk, staysPaused)
    await Promise.all(started.map((process) => bringBack(process, name)))
    this.#atWork.delete(name)
  }

  async #command(kind: Kind, binding: BindingPlan, process: ConnectorProcess, staysPaused: boolean): Promise<void> {
    const { moves, court, evidence, logs } = this.#world
    evidence.update()
    const places = placesOf(binding).filter((place) => logs.has(`${place.topic}-0`))
    const place = this.#world.draw.pick(places.filter((one) => one.kind === 'SOURCE' || one.kind === 'TIER'))
    const command = this.#draw(kind, place)
    if (command === undefined || !process.isStarted) return
    court.note('operator', () => `moves ${place.topic} of ${place.groupId} at ${process.name}: ${show(command)}`)
    const open = moves.begin(process.name, place, command)
    // A process that leaves its groups and returns is another owner.
    process.restarts++
    const answer = await process.ask(() =>
      give(process, binding.name, command).catch((error: unknown) => {
        moves.refused(open, error)
        throw error
      }),
    )
    if (!process.isDead) moves.end(open)
    if (answer === undefined) return
    moves.answered(open, answer.positions)
    if (!staysPaused) return
    court.reach('move: of a paused binding')
    // It comes back paused, and delivers nothing before it is resumed.
    await process.ask(() => process.sim.runtime.timers.sleep(this.#world.draw.between(50, 800)))
  }

  /** Draws a command; undefined where it has no possible target. */
  #draw(kind: Kind, { source, topic, groupId, tier }: Place): PositionCommand | undefined {
    const { draw, logs, commits, program } = this.#world
    const log = draw.pick([...logs.values()].filter((one) => one.topic === topic))
    const which = { tier, ...(program.topics.length > 1 ? { topic: source } : {}) }
    const { partition } = log
    const offsetBelow = (end: bigint): bigint => BigInt(draw.integer(0, Number(end)))
    if (kind === 'SKIP') {
      if (log.end === 0n) return undefined
      // Near the next position: a record with an outcome cannot be skipped.
      const next = commits.last(groupId, topic, partition)?.offset ?? 0n
      const last = log.end - 1n
      const first = next > last ? last : next + offsetBelow(last - next > 5n ? 5n : last - next)
      const offsets = draw.chance(0.5) ? [first] : [first, first + 1n]
      return { type: 'SKIP', skip: { partition, offsets, ...which } }
    }
    const written = draw.pick(log.records)?.timestamp ?? 0
    const time = { timestampMs: Math.max(0, written + draw.integer(-50, 50)) }
    const ends: readonly ('EARLIEST' | 'LATEST' | typeof time)[] = ['EARLIEST', 'LATEST', time]
    if (kind === 'RESET') return { type: 'RESET', reset: { to: draw.pick(ends), ...which } }
    const isOffset = draw.chance(0.6)
    const to: PositionTarget = isOffset ? { offset: offsetBelow(log.end) } : draw.pick(ends)
    const partitions = isOffset || draw.chance(0.5) ? { partitions: [partition] } : {}
    return { type: 'SEEK', seek: { to, ...partitions, ...which } }
  }
}

function give(process: ConnectorProcess, name: string, command: PositionCommand): Promise<PositionAnswer> {
  const { admin } = process.connector
  const operator = { by: 'alice', reason: 'simulated' }
  switch (command.type) {
    case 'SEEK':
      return admin.seek(name, command.seek, operator)
    case 'SKIP':
      return admin.skip(name, command.skip, operator)
    case 'RESET':
      return admin.reset(name, command.reset, operator)
  }
}

async function pause(process: ConnectorProcess, name: string, now: () => number): Promise<void> {
  await process.ask(async () => {
    await process.connector.pause(name)
    process.paused.set(name, now())
  })
}

async function away(process: ConnectorProcess, name: string): Promise<void> {
  await process.ask(() => process.connector.stop(name))
  process.paused.delete(name)
  process.restarts++
}

/** Retries until it runs, or the process stops. */
async function bringBack(process: ConnectorProcess, name: string): Promise<void> {
  while (process.isStarted && process.has(name)) {
    const { connector } = process
    const view = connector.listBindings().find((one) => one.name === name)
    process.paused.delete(name)
    if (view?.state === 'RUNNING') return
    const isPaused = view?.pausedBy.includes('OPERATOR') === true
    if (view?.state === 'PAUSED' && !isPaused) return
    const isDone = await process.ask(async () => {
      await (isPaused ? connector.resume(name) : connector.start(name))
      return true
    })
    if (isDone === true) return
    await process.ask(() => process.sim.runtime.timers.sleep(againMs))
  }
}

function show(command: PositionCommand): string {
  return JSON.stringify(command, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))
}
