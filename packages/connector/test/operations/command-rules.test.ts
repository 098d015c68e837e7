import { type AuditEntry, NonRetryableError, OptionsError } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import type { EventBusAdmin } from '../../src/api/event-bus-admin.ts'
import { connectorWorld } from '../support/connector-world.ts'

const alice = { by: 'alice' }

type Commands = 'seek' | 'skip' | 'reset' | 'replayDlt' | 'releaseDlt' | 'purgeDlt' | 'dltStats'

const target = 'one of EARLIEST, LATEST, { offset }, { timestampMs }'
const resetTarget = 'one of EARLIEST, LATEST, { timestampMs }'

/** Arguments as JavaScript or JSON passes them, without type checks. */
const refused: readonly (readonly [Commands, unknown, readonly string[]])[] = [
  ['seek', { to: 'LATEST', partition: [0] }, ['partition is not an option; did you mean partitions?']],
  ['seek', { to: 'LATEST', partitions: 0 }, ['partitions must be a list, each an integer of 0 or more, got 0']],
  ['seek', { to: 'LATEST', partitions: ['0'] }, ['partitions[0] must be an integer of 0 or more, got "0"']],
  ['seek', { to: 'LATEST', tier: '1' }, ['tier must be an integer of 0 or more, got "1"']],
  ['seek', { to: 'BEGINNING' }, [`to must be ${target}, got "BEGINNING"`]],
  ['seek', { to: 'earliest' }, [`to must be ${target}, got "earliest"; did you mean EARLIEST?`]],
  ['seek', { to: { time: 5 } }, ['to.time is not an option; did you mean timestampMs?']],
  ['seek', { to: { timestampMs: -1 } }, ['to.timestampMs must be a time in epoch milliseconds, got -1']],
  ['seek', { to: {} }, ['to must have exactly one key, as in { offset } or { timestampMs }']],
  [
    'seek',
    { to: { offset: 1n, timestampMs: 5 }, partitions: [0] },
    ['to must have exactly one key, as in { offset } or { timestampMs }'],
  ],
  [
    'seek',
    { to: { offset: 1 }, partitions: [0] },
    ['to.offset must be a bigint of 0 or more, got 1; did you mean 1n?'],
  ],
  ['seek', {}, [`to is required: ${target}`]],
  ['seek', undefined, [`to is required: ${target}`]],
  ['seek', 'LATEST', ['seek() of orders must be an object, got "LATEST"']],
  [
    'seek',
    { to: 'FIRST', partition: 0, tier: -1 },
    [
      'partition is not an option; did you mean partitions?',
      `to must be ${target}, got "FIRST"`,
      'tier must be an integer of 0 or more, got -1',
    ],
  ],
  ['reset', { to: 'LATEST', partitions: [0] }, ['partitions is not an option; known are to, tier, topic']],
  ['reset', { to: { offset: 1n } }, ['to.offset is not an option; known are timestampMs']],
  ['reset', {}, [`to is required: ${resetTarget}`]],
  ['skip', { partition: 0, offsets: [3] }, ['offsets[0] must be a bigint of 0 or more, got 3; did you mean 3n?']],
  [
    'skip',
    { partition: 0, offset: 2n },
    ['offset is not an option; did you mean offsets?', 'offsets is required: a list, each a bigint of 0 or more'],
  ],
  ['replayDlt', { count: 1, traget: 'BINDING' }, ['traget is not an option; did you mean target?']],
  [
    'replayDlt',
    { count: 1, target: 'ORIGNAL' },
    ['target must be one of ORIGINAL, BINDING, got "ORIGNAL"; did you mean ORIGINAL?'],
  ],
  ['replayDlt', {}, ['count is required without from and to']],
  ['replayDlt', { count: 1, to: 5 }, ['from is required with to']],
  ['replayDlt', { count: 1, from: 5 }, ['to is required with from']],
  ['replayDlt', { count: '1' }, ['count must be a whole number from 1 on, got "1"']],
  ['replayDlt', { count: 1, signal: {} }, ['signal must be an AbortSignal, got an object']],
  [
    'releaseDlt',
    { count: 1, target: 'BINDING' },
    ['target is not an option; known are count, from, to, signal, onProgress'],
  ],
  ['purgeDlt', '5', ['olderThanMs must be an age in milliseconds, not a time, got "5"']],
  ['dltStats', { onProgres: () => {} }, ['onProgres is not an option; did you mean onProgress?']],
]

function messageOf(command: string, problems: readonly string[]): string {
  const count = problems.length === 1 ? '1 invalid option' : `${problems.length} invalid options`
  const lines = problems.map((problem) => `\n  ${problem}`).join('')
  return `${command}() of orders: ${count}:${lines}\n  Nothing was done. Fix them and try again.`
}

/** Starts a binding that has read two of three records of partition 0, one of them dead, and stops it. */
async function withIdleBinding(
  program: (given: {
    readonly admin: EventBusAdmin
    readonly entries: readonly AuditEntry[]
    /** Returns the state that any executed command would change. */
    readonly state: () => Promise<unknown>
  }) => Promise<void>,
): Promise<void> {
  await connectorWorld(async (world) => {
    world.sim.createTopic('orders', { partitions: 2 })
    const entries: AuditEntry[] = []
    const values: string[] = []
    const bus = world.connector({
      bindings: {
        orders: {
          topic: 'orders',
          groupId: 'orders',
          retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 600_000 }] },
          handler: ({ value }) => {
            values.push(String(value))
            if (String(value) === 'dead') throw new NonRetryableError('not this one')
          },
        },
      },
      administration: { auditLog: { write: (entry) => void entries.push(entry) } },
    })
    await bus.start()
    await world.write('orders', ['dead', 'well'])
    await world.eventually(async () => expect(await bus.admin.dltStats('orders', alice)).toMatchObject({ count: 1 }))
    await world.eventually(() => expect(values).toHaveLength(2))
    await bus.stop('orders')
    await world.write('orders', ['later'])
    await program({
      admin: bus.admin,
      entries,
      state: async () => ({
        audit: await bus.audit(),
        deadLetters: await bus.admin.dltStats('orders', alice),
        commits: world.commits.length,
      }),
    })
  })
}

/** The admin without its types. */
function call(admin: EventBusAdmin, command: Commands, given: unknown): Promise<unknown> {
  const untyped = admin as unknown as Record<Commands, (...given: unknown[]) => Promise<unknown>>
  return command === 'dltStats' ? untyped[command]('orders', alice, given) : untyped[command]('orders', given, alice)
}

describe('a command whose argument is wrong', () => {
  test.each(refused)('%s(%o) is refused with every violation, and neither run nor audited', (...row) => {
    const [command, given, problems] = row
    return withIdleBinding(async ({ admin, entries, state }) => {
      const before = await state()
      const error: unknown = await call(admin, command, given).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(OptionsError)
      expect((error as OptionsError).message).toBe(messageOf(command, problems))
      expect(await state()).toEqual(before)
      expect(entries).toEqual([])
    })
  })

  test('cannot turn into another command: stop() with a type is refused, and nothing is destroyed', () =>
    withIdleBinding(async ({ admin, entries }) => {
      const options = { type: 'DESTROY', deadlineMs: 5 } as object
      await expect(admin.stop('orders', alice, options)).rejects.toThrow(
        'stop() of orders: 1 invalid option:\n  type is not an option; known are deadlineMs',
      )
      await expect(admin.destroy('orders', alice, { deadlineMs: -1 })).rejects.toThrow(
        'deadlineMs must be whole milliseconds of 0 or more, got -1',
      )
      expect(admin.binding('orders').state).toBe('STOPPED')
      expect(entries).toEqual([])
    }))

  test('of replayToTier() and deadLetters() is refused as well', () =>
    withIdleBinding(async ({ admin }) => {
      const which = { count: 1, target: 'BINDING' } as { count: number }
      await expect(admin.replayToTier('orders', 1, which, alice)).rejects.toThrow('target is not an option')
      const listing = async (): Promise<void> => {
        for await (const _ of admin.deadLetters('orders', alice, { form: 5 } as object))
          throw new Error('It listed them')
      }
      await expect(listing()).rejects.toThrow('form is not an option; did you mean from?')
    }))
})

describe('a command whose argument is right', () => {
  test('treats undefined as not given', () =>
    withIdleBinding(async ({ admin, entries }) => {
      const window = { from: undefined, to: undefined } as object
      expect(await admin.replayDlt('orders', { count: 1, ...window }, alice)).toMatchObject({ replayed: 1 })
      const place = { offset: undefined, timestampMs: 0 } as { timestampMs: number }
      const { positions } = await admin.seek('orders', { to: place, partitions: [0] }, alice)
      expect(positions).toMatchObject([{ partition: 0, to: 0n }])
      expect(entries.map(({ request }) => request)).toEqual([
        { count: 1 },
        { count: 1 },
        { type: 'SEEK', seek: { to: { timestampMs: 0 }, partitions: [0] } },
        { type: 'SEEK', seek: { to: { timestampMs: 0 }, partitions: [0] } },
      ])
    }))

  test('accepts a window with a count, which limits the dead letters of the window', () =>
    withIdleBinding(async ({ admin, entries }) => {
      const window = { from: 0, to: Number.MAX_SAFE_INTEGER, count: 5 }
      expect(await admin.replayDlt('orders', window, alice)).toMatchObject({ replayed: 1 })
      expect(entries.map(({ outcome }) => outcome)).toEqual(['ASKED', 'DONE'])
    }))
})
