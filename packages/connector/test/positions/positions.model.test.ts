/**
 * Runs random commands and moves beside a model of pending offsets: an offset that was written or rewound is handled
 * afterwards, unless an operator has skipped it.
 */

import { StopDeadlineError } from '@waybill/core'
import { PartialFailureError } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector } from '../../src/api/connector.ts'
import type { ContainerState } from '../../src/api/container-state.ts'
import type { PositionReport } from '../../src/api/position-command.ts'
import { PositionRefusedError } from '../../src/api/position-errors.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'

const partitions = 2
const steps = 16
const seeds = 8
const alice = { by: 'alice' }

const setups: readonly (readonly [string, Partial<Binding>])[] = [
  ['record by record', {}],
  ['many at once', { ackMode: 'MANUAL', parallelism: 'UNORDERED', maxInFlight: 8 }],
  ['in the order of keys', { orderingMode: 'KEY', parallelism: 'KEY', maxInFlight: 8 }],
]

interface Offset {
  /** The step at which it was written or rewound. */
  dueAt: number
  handledAt: number
  isPassedOver: boolean
}

/** The expected state of each offset. */
class Model {
  readonly violations: string[] = []
  readonly logs: readonly Offset[][] = Array.from({ length: partitions }, () => [])
  #now = 0

  written(partition: number): void {
    this.logs[partition]?.push({ dueAt: ++this.#now, handledAt: 0, isPassedOver: false })
  }

  handled(partition: number, offset: bigint): void {
    const one = this.#at(partition, offset)
    if (one.isPassedOver) this.violations.push(`${partition}:${offset} was passed over, and is handled`)
    one.handledAt = ++this.#now
  }

  moved({ partition, from, to }: PositionReport): void {
    const log = this.logs[partition] as Offset[]
    const before = from ?? 0n
    for (const [offset, one] of log.entries()) {
      if (offset >= before && offset < to && this.#isOpen(one)) one.isPassedOver = true
      if (to < before && offset >= to) this.#dueAgain(one)
    }
  }

  /** Makes everything from the position on pending, whatever its outcome was. */
  begunAnew({ partition, from, to }: PositionReport): void {
    this.moved({ topic: '', partition, from, to, skipped: 0n, repeated: 0n })
    for (const one of this.logs[partition]?.slice(Number(to)) ?? []) this.#dueAgain(one)
  }

  skipped(partition: number, offsets: readonly bigint[]): void {
    for (const offset of offsets) this.#at(partition, offset).isPassedOver = true
  }

  /** Returns the offsets without an outcome. */
  open(): readonly string[] {
    return this.logs.flatMap((log, partition) =>
      log.flatMap((one, offset) => (this.#isOpen(one) ? [`${partition}:${offset}`] : [])),
    )
  }

  #isOpen({ dueAt, handledAt, isPassedOver }: Offset): boolean {
    return !isPassedOver && handledAt < dueAt
  }

  #dueAgain(one: Offset): void {
    one.isPassedOver = false
    one.dueAt = ++this.#now
  }

  #at(partition: number, offset: bigint): Offset {
    return this.logs[partition]?.[Number(offset)] as Offset
  }
}

type Step = (bus: Connector, model: Model, world: ConnectorWorld) => Promise<void>

const stepsByName: Readonly<Record<string, Step>> = {
  async write(_bus, model, world) {
    const partition = pick(world, partitions)
    const values = Array.from({ length: 1 + pick(world, 6) }, (_, index) => `value-${index}`)
    for (const _ of values) model.written(partition)
    await world.write('orders', values, partition, () => `key-${pick(world, 3)}`)
  },
  wait: (_bus, _model, world) => world.sleep(pick(world, 3_000)),
  start: (bus) => bus.start('orders'),
  pause: (bus) => bus.pause('orders'),
  resume: (bus) => bus.resume('orders'),
  stop: (bus) => bus.stop('orders'),
  // Running records are not settled; concurrent ones may be.
  stopAtOnce: (bus) => bus.stop('orders', { deadlineMs: 0 }),
  async seek(bus, model, world) {
    const partition = pick(world, partitions)
    const end = model.logs[partition]?.length ?? 0
    const to = { offset: BigInt(pick(world, end + 1)) }
    const { positions } = await bus.admin.seek('orders', { to, partitions: [partition] }, alice)
    for (const report of positions) model.moved(report)
  },
  async skip(bus, model, world) {
    const partition = pick(world, partitions)
    const open = model.open().filter((name) => name.startsWith(`${partition}:`))
    const offsets = [BigInt(open[pick(world, open.length)]?.split(':')[1] ?? 0)]
    await bus.admin.skip('orders', { partition, offsets }, alice)
    model.skipped(partition, offsets)
  },
  async reset(bus, model, world) {
    const to = pick(world, 2) === 0 ? 'EARLIEST' : 'LATEST'
    const { positions } = await bus.admin.reset('orders', { to }, alice)
    for (const report of positions) model.begunAnew(report)
  },
}

/** Returns the commands that a state allows; others would show nothing. */
const stepsIn: Readonly<Record<ContainerState, readonly string[]>> = {
  CREATED: ['write', 'start', 'start', 'seek', 'reset'],
  RUNNING: ['write', 'write', 'wait', 'pause', 'pause', 'stop', 'stopAtOnce'],
  PAUSED: ['write', 'resume', 'resume', 'stop', 'seek', 'skip', 'reset'],
  STOPPED: ['write', 'start', 'start', 'start', 'seek', 'skip', 'reset'],
  DESTROYED: [],
}

function pick({ runtime }: ConnectorWorld, below: number): number {
  return Math.floor(runtime.random() * below)
}

/**
 * Returns whether a move was refused by the log, by a running handler, or by the group: a process that was killed stays
 * a member until its session times out.
 */
const answers = [PositionRefusedError, StopDeadlineError, PartialFailureError]

function isAnswer(error: unknown): boolean {
  return answers.some((answer) => error instanceof answer)
}

async function runSeed(world: ConnectorWorld, options: Partial<Binding>): Promise<Readonly<Record<string, number>>> {
  world.sim.createTopic('orders', { partitions })
  const model = new Model()
  const done: Record<string, number> = {}
  const handler: Binding['handler'] = async ({ partition, offset }, { signal }) => {
    await world.runtime.timers.sleep(pick(world, 400), signal)
    model.handled(partition, offset)
  }
  const retry = { tiers: [{ delayMs: 1_000 }] }
  const bus = world.connector({
    bindings: { orders: { topic: 'orders', groupId: 'orders', handler, retry, ...options } },
  })
  for (let step = 0; step < steps; step++) {
    const names = stepsIn[bus.getState('orders')]
    const name = names[pick(world, names.length)] as string
    try {
      await stepsByName[name]?.(bus, model, world)
      done[name] = (done[name] ?? 0) + 1
    } catch (error) {
      if (!isAnswer(error)) throw error
    }
    const rows = await bus.audit()
    expect(rows.filter(({ problem, missing }) => problem !== undefined || missing > 0n)).toEqual([])
  }
  if (bus.getState('orders') === 'PAUSED') await bus.resume('orders')
  else if (bus.getState('orders') !== 'RUNNING') await bus.start('orders')
  await world.eventually(() => expect(model.open()).toEqual([]))
  await bus.stop('orders')
  expect(model.violations).toEqual([])
  expect(bus.health().status).toBe('UP')
  for (const { partition, committed, problem } of await bus.audit())
    expect([partition, committed, problem]).toEqual([partition, BigInt(model.logs[partition]?.length ?? 0), undefined])
  return done
}

describe('I2 I20 any order of commands and moves leaves every record with its outcome, and an audit that holds', () => {
  test.each(setups)('%s', async (_name, options) => {
    const done: Record<string, number> = {}
    for (let seed = 1; seed <= seeds; seed++) {
      try {
        await connectorWorld(
          async (world) => {
            for (const [name, times] of Object.entries(await runSeed(world, options)))
              done[name] = (done[name] ?? 0) + times
          },
          { seed },
        )
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error })
      }
    }
    // A run without a move shows nothing.
    for (const name of Object.keys(stepsByName)) expect(done).toHaveProperty(name)
  })
})
