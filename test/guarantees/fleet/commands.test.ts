import assert from 'node:assert/strict'
import { createSeededRandom, systemTimers } from '@waybill/core/internal'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { Child } from '../support/child.ts'
import type { FleetCommandName, FleetMessage, FleetOrder, FleetTask, FleetView } from '../support/fleet-process.ts'
import { report, scale } from '../support/scale.ts'

const script = new URL('../support/fleet-process.ts', import.meta.url)
const instances = scale === 'WHOLE' ? 5 : 3
const commands = scale === 'WHOLE' ? 200 : 30
const bindings = ['orders', 'parcels', 'returns']
/** A promise of the specification: measured from the last fault and the last command. */
const agreeMs = 20_000
const seed = Number(process.env['WAYBILL_SEED'] ?? 18)

type State = 'RUNNING' | 'PAUSED' | 'STOPPED'

const anything: readonly FleetCommandName[] = ['start', 'stop', 'pause', 'resume', 'seek']
const fits: Readonly<Record<State, readonly FleetCommandName[]>> = {
  RUNNING: ['pause', 'pause', 'stop'],
  PAUSED: ['resume', 'resume', 'stop', 'seek'],
  STOPPED: ['start'],
}
const leaves: Readonly<Partial<Record<FleetCommandName, State>>> = {
  start: 'RUNNING',
  resume: 'RUNNING',
  pause: 'PAUSED',
  stop: 'STOPPED',
}

/** A state that agrees with a desired one. */
const agreeing: Readonly<Record<string, readonly string[]>> = {
  RUNNING: ['RUNNING'],
  PAUSED: ['PAUSED'],
  STOPPED: ['STOPPED', 'CREATED'],
}

/** Its processes, of which some are killed and started again. */
class Fleet implements AsyncDisposable {
  readonly children: Child<FleetMessage>[] = []
  readonly past: Child<FleetMessage>[] = []
  /** The child of each command. */
  readonly given = new Map<number, Child<FleetMessage>>()
  kills = 0
  readonly #taskOf: (place: number) => FleetTask
  #views = 0

  constructor(taskOf: (place: number) => FleetTask) {
    this.#taskOf = taskOf
  }

  start(place: number): void {
    const former = this.children[place]
    if (former !== undefined) this.past.push(former)
    this.children[place] = new Child<FleetMessage>(script, this.#taskOf(place))
  }

  async running(place: number): Promise<void> {
    await eventually(() => assert.equal(this.children[place]?.of('RUNNING').length, 1), { deadlineMs: 60_000 })
  }

  give(order: FleetOrder, place: number): void {
    const child = this.children[place]
    if (child === undefined) return
    this.given.set(order.no, child)
    child.send(order)
  }

  async kill(place: number): Promise<void> {
    this.kills += 1
    await this.children[place]?.kill()
  }

  answerOf(no: number): Extract<FleetMessage, { kind: 'ANSWERED' }> | undefined {
    return this.given
      .get(no)
      ?.of('ANSWERED')
      .find((answer) => answer.no === no)
  }

  /** Asks all processes for their states at one time. */
  async views(): Promise<readonly FleetView[]> {
    const no = ++this.#views
    for (const child of this.children) child.send({ view: no })
    return Promise.all(
      this.children.map((child) =>
        eventually(
          () => {
            const found = child.of('VIEW').find((view) => view.no === no)
            assert.ok(found)
            return found
          },
          { deadlineMs: agreeMs },
        ),
      ),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.children, ...this.past].map((child) => child.kill()))
  }
}

describeWith('kafka')(`${instances} processes that obey one log`, ({ kafka: place }) => {
  test('agree on what is desired within 20 s after the last kill, and each command is answered', {
    timeout: 900_000,
  }, async () => {
    const topic = await place.createTopic('fleet', { partitions: 6 })
    const logTopic = place.named('fleet-control')
    const groupId = place.named('fleet')
    const random = createSeededRandom(seed)
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
    await using fleet = new Fleet((at) => ({
      brokers: place.bootstrap,
      instance: `shop-${at}`,
      topic,
      groupId,
      bindings,
      logTopic,
    }))
    for (let at = 0; at < instances; at++) fleet.start(at)
    await Promise.all(Array.from({ length: instances }, (_, at) => fleet.running(at)))

    // Commands go on while processes are killed and come back.
    const expected = new Map<string, State>()
    const down = new Set<number>()
    const restarts: Promise<void>[] = []
    const crash = async (at: number): Promise<void> => {
      down.add(at)
      await fleet.kill(at)
      await systemTimers.sleep(random() * 3_000)
      fleet.start(at)
      down.delete(at)
    }
    for (let no = 0; no < commands; no++) {
      const up = fleet.children.map((_, at) => at).filter((at) => !down.has(at))
      const binding = pick(bindings)
      // Most commands fit the state that the ones before would leave; the others are refused, or race with those.
      const fitting = fits[expected.get(binding) ?? 'RUNNING']
      const command = pick(random() < 0.85 ? fitting : anything)
      if (fitting.includes(command)) expected.set(binding, leaves[command] ?? expected.get(binding) ?? 'RUNNING')
      fleet.give({ no, binding, command }, pick(up))
      const isLast = no === commands - 1
      if ((random() < 0.08 || isLast) && up.length > 2) restarts.push(crash(pick(up)))
      await systemTimers.sleep(random() * 600)
    }
    await Promise.all(restarts)
    const overAt = performance.now()

    // Every command has an answer, unless the process that its operator asked was killed.
    const open = () =>
      [...fleet.given].filter(([no, child]) => fleet.answerOf(no) === undefined && fleet.children.includes(child))
    let agreedMs: number | undefined
    const agrees = async (): Promise<void> => {
      const views = await fleet.views()
      for (const binding of bindings) {
        const desired = new Set(views.map(({ states }) => states[binding]?.desired))
        expect([binding, desired.size]).toEqual([binding, 1])
        const [wish = 'RUNNING'] = desired
        for (const [at, { states }] of views.entries()) {
          const state = states[binding]?.state ?? 'UNKNOWN'
          const isAgreed = agreeing[wish]?.includes(state) === true
          expect(isAgreed, `shop-${at}: ${binding} is ${state}, and ${wish} is desired`).toBe(true)
        }
      }
      for (const { alive } of views) expect(alive.toSorted()).toEqual(fleet.children.map((_, at) => `shop-${at}`))
      agreedMs ??= performance.now() - overAt
    }
    await eventually(agrees, { deadlineMs: agreeMs })
    // Commands that wait for processes that died are answered later, and must not change that.
    await eventually(() => expect(open().map(([no]) => no)).toEqual([]), { deadlineMs: 120_000 })
    await eventually(agrees, { deadlineMs: agreeMs })

    const answers = [...fleet.given.keys()].map((no) => fleet.answerOf(no))
    const answered = answers.filter((one) => one !== undefined)
    const count = (word: string): number =>
      answered.flatMap(({ answer }) => answer).filter((one) => one.includes(` ${word} `)).length
    const errors = Map.groupBy(
      answered.flatMap(({ error }) => (error === undefined ? [] : [error])),
      (code) => code,
    )
    // An operator who asks a process that is killed has no answer: that is unknown, too.
    const killed = answers.length - answered.length
    report(
      `fleet: ${JSON.stringify({
        seed,
        instances,
        commands: answers.length,
        kills: fleet.kills,
        agreedMs: Math.round(agreedMs ?? Number.NaN),
        answered: answered.length,
        askedOfAKilledProcess: killed,
        applied: count('APPLIED'),
        failed: count('FAILED'),
        noAnswer: count('NO_ANSWER'),
        errors: Object.fromEntries([...errors].map(([code, all]) => [code, all.length])),
      })}`,
    )
    expect(answered.length + killed).toBe(commands)
    expect(killed).toBeLessThanOrEqual(commands / 4)
    for (const code of errors.keys())
      expect([
        'WAYBILL_CONTAINER_STATE_INVALID',
        'WAYBILL_STATE_INVALID',
        'WAYBILL_INSTANCE_NOT_AWAY',
        'WAYBILL_COMMAND_UNKNOWN',
        'WAYBILL_CONTROL_UNREACHABLE',
        'WAYBILL_KAFKA_PARTIAL_FAILURE',
      ]).toContain(code)
  })
})
