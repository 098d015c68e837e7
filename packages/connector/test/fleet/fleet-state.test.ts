import { describe, expect, test } from 'vitest'
import {
  type AnswerEntry,
  answerKey,
  type CommandEntry,
  commandKey,
  type DesiredEntry,
  desiredKey,
  statusKey,
  valueOf,
} from '../../src/fleet/fleet-entry.ts'
import { FleetState } from '../../src/fleet/fleet-state.ts'

const target = { cluster: 'default', groupId: 'shipping', binding: 'orders' }
const never = (): boolean => false
const always = (): boolean => true

/** Adds entries to a log, and folds it. */
class Log {
  readonly state = new FleetState()
  #position = 0

  add(key: string, value: unknown): bigint {
    this.#position += 1
    this.state.take({ key, value, position: `${this.#position}`, atMs: this.#position * 1_000 }, this.#position)
    return BigInt(this.#position)
  }

  command(id: string, type: 'PAUSE' | 'RESUME' | 'STOP' | 'DESTROY', awaited: readonly string[] = ['a', 'b']): bigint {
    return this.#command(id, { type }, awaited)
  }

  tier(id: string, type: 'PAUSE_TIER' | 'RESUME_TIER', tier: unknown): bigint {
    return this.#command(id, { type, tier: tier as number }, ['a'])
  }

  #command(id: string, command: CommandEntry['command'], awaited: readonly string[]): bigint {
    const entry: CommandEntry = { id, target, command, operator: { by: 'ana' }, awaited, waitMs: 10_000 }
    return this.add(commandKey(id), valueOf(entry))
  }

  answer(command: string, incarnation: string, outcome: 'APPLIED' | 'FAILED', state: AnswerEntry['state']): void {
    const entry: AnswerEntry = { command, incarnation, instance: incarnation, outcome, state }
    this.add(answerKey(command, incarnation), valueOf(entry))
  }

  desired(entry: Omit<DesiredEntry, 'target' | 'by'>): void {
    this.add(desiredKey(target), valueOf({ ...entry, target, by: 'a' }))
  }
}

describe('the desired state', () => {
  test('is not set in an empty log', () => {
    expect(new Log().state.desired(target, never)).toEqual({ state: undefined, tiers: [], open: undefined })
  })

  test('is that of a command before the first answer, which may still refuse it', () => {
    const log = new Log()
    log.command('1', 'PAUSE')
    expect(log.state.desired(target, never)).toMatchObject({ state: 'PAUSED', open: { entry: { id: '1' } } })
  })

  test('is that of the last command in the log', () => {
    const log = new Log()
    for (const [id, type] of [
      ['2', 'PAUSE'],
      ['1', 'STOP'],
    ] as const) {
      log.command(id, type)
      log.answer(id, 'a', 'APPLIED', undefined)
    }
    expect(log.state.desired(target, never)).toEqual({ state: 'STOPPED', tiers: [], open: undefined })
  })

  test('is as before when everyone refused', () => {
    const log = new Log()
    log.command('1', 'STOP')
    log.answer('1', 'a', 'APPLIED', 'STOPPED')
    log.command('2', 'PAUSE')
    log.answer('2', 'a', 'FAILED', 'STOPPED')
    expect(log.state.desired(target, never).state).toBe('PAUSED')
    log.answer('2', 'b', 'FAILED', 'STOPPED')
    expect(log.state.desired(target, never)).toEqual({ state: 'STOPPED', tiers: [], open: undefined })
  })

  test('is as before when those who answered refused, and the others are silent until time is over', () => {
    const log = new Log()
    log.command('1', 'PAUSE')
    log.answer('1', 'a', 'FAILED', 'CREATED')
    expect(log.state.desired(target, never).state).toBe('PAUSED')
    expect(log.state.desired(target, always).state).toBeUndefined()
  })

  test('is that of a command without any answer', () => {
    const log = new Log()
    log.command('1', 'PAUSE')
    expect(log.state.desired(target, always)).toEqual({ state: 'PAUSED', tiers: [], open: undefined })
  })

  test('is that of a command that failed after its state was reached', () => {
    const log = new Log()
    log.command('1', 'STOP', ['a'])
    log.answer('1', 'a', 'FAILED', 'STOPPED')
    expect(log.state.desired(target, never).state).toBe('STOPPED')
  })

  test('is forgotten after a destroy', () => {
    const log = new Log()
    log.desired({ state: 'PAUSED', upTo: '0' })
    log.command('1', 'DESTROY', ['a'])
    log.answer('1', 'a', 'APPLIED', undefined)
    expect(log.state.desired(target, never).state).toBeNull()
  })

  test('is that of a snapshot, and of commands behind it alone', () => {
    const log = new Log()
    const first = log.command('1', 'PAUSE')
    const second = log.command('2', 'STOP')
    log.desired({ state: 'RUNNING', upTo: `${first}` })
    expect(log.state.desired(target, always).state).toBe('STOPPED')
    log.desired({ state: 'RUNNING', upTo: `${second}` })
    expect(log.state.desired(target, always).state).toBe('RUNNING')
  })

  test('stays that of a newer snapshot when an older one arrives late, and is written again', () => {
    const log = new Log()
    const upTo = log.command('1', 'PAUSE')
    log.desired({ state: 'PAUSED', upTo: `${upTo}` })
    expect(log.state.snapshotFor(target, upTo, 'a')).toBeUndefined()
    log.desired({ state: 'RUNNING', upTo: '0' })
    expect(log.state.desired(target, always).state).toBe('PAUSED')
    expect(log.state.snapshotFor(target, upTo, 'b')).toMatchObject({ state: 'PAUSED', upTo: `${upTo}`, by: 'b' })
    expect(log.state.replacedSnapshots()).toHaveLength(1)
  })
})

describe('the paused tiers', () => {
  test('are those of a snapshot, and of commands behind it, and stay with the state of the binding', () => {
    const log = new Log()
    const upTo = log.tier('1', 'PAUSE_TIER', 2)
    log.desired({ state: 'RUNNING', tiers: [3, 1], upTo: `${upTo}` })
    log.tier('2', 'PAUSE_TIER', 2)
    log.tier('3', 'RESUME_TIER', 3)
    log.command('4', 'PAUSE')
    expect(log.state.desired(target, always)).toEqual({ state: 'PAUSED', tiers: [1, 2], open: undefined })
    expect(log.state.snapshotFor(target, 99n, 'b')).toMatchObject({ state: 'PAUSED', tiers: [1, 2] })
    log.command('5', 'STOP')
    expect(log.state.desired(target, always).tiers).toEqual([])
    expect(log.state.snapshotFor(target, 99n, 'b')).not.toHaveProperty('tiers')
  })

  test('are none that everyone refused, also where the binding is unknown', () => {
    const log = new Log()
    log.tier('1', 'PAUSE_TIER', 1)
    expect(log.state.desired(target, never)).toMatchObject({ tiers: [1], open: { entry: { id: '1' } } })
    log.answer('1', 'a', 'FAILED', undefined)
    expect(log.state.desired(target, never)).toEqual({ state: undefined, tiers: [], open: undefined })
  })

  test('are no numbers that another program made up', () => {
    const log = new Log()
    for (const [at, tier] of [0, 17, 1.5, '2', null, { valueOf: () => 1 }, [3]].entries())
      log.tier(`${at}`, 'PAUSE_TIER', tier)
    expect(log.state.desired(target, always).tiers).toEqual([])
    log.desired({ state: null, tiers: 'all' as never, upTo: '99' })
    expect(log.state.desired(target, always).tiers).toEqual([])
  })
})

const status = (incarnation: string): unknown => valueOf({ instance: 'shop', incarnation, bindings: [] })

describe('the members of a fleet', () => {
  test('are aged by the time of the log, whatever clock this process has', () => {
    const log = new Log()
    log.add(statusKey('old'), status('old'))
    for (let index = 0; index < 20; index++) log.add(statusKey('new'), status('new'))
    log.state.ageMembers(50_000)
    const seen = [...log.state.members.values()].map((member) => [member.status.incarnation, member.seenAt])
    expect(seen).toEqual([
      ['old', 30_000],
      ['new', 50_000],
    ])
  })

  test('are gone when they have left', () => {
    const log = new Log()
    log.add(statusKey('a'), status('a'))
    log.add(statusKey('a'), null)
    expect(log.state.members.size).toBe(0)
  })
})
