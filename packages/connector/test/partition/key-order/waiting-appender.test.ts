import { KafkaError, type OutRecord, type SendResult } from '@waybill/kafka'
import { type FencedAppender, type KafkaErrorKind } from '@waybill/kafka/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { WaitingAppender } from '../../../src/partition/key-order/waiting-appender.ts'
import { type Append, newEntry } from '../../../src/partition/key-order/waiting-entry.ts'
import { originalAt } from './waiting-copies.ts'

const place = { source: { topic: 'orders', partition: 0 }, waiting: { topic: 'w', partition: 0 }, groupId: 'g' }

/** What a broker does with the next append of that record: writes it, refuses it, or loses the answer. */
type Fate = 'WRITTEN' | 'REFUSED' | 'TOO_LARGE' | 'UNKNOWN' | 'UNKNOWN_WRITTEN' | 'FENCED'

function fail(kind: KafkaErrorKind): never {
  throw new KafkaError(`Scripted: ${kind}.`, kind)
}

/** A scripted broker on virtual time: what is in the log, and which epochs were taken. */
function appenderScene() {
  const runtime = createVirtualRuntime(1)
  const log: string[] = []
  const calls: string[] = []
  const fates: Fate[] = []
  const confirmed: string[] = []
  const troubles: string[] = []
  const failures: unknown[] = []
  const state = { isMember: true, isReading: true, epoch: 0, fences: 0, replaced: 0, recovered: 0 }

  const write = (text: string): SendResult => {
    log.push(text)
    return { partition: 0, offset: BigInt(log.length - 1) }
  }
  const append = (text: string): SendResult => {
    const fate = fates.shift() ?? 'WRITTEN'
    if (fate === 'UNKNOWN_WRITTEN') write(text)
    if (fate === 'WRITTEN') return write(text)
    return fail(
      fate === 'REFUSED' ? 'RETRIABLE' : fate === 'TOO_LARGE' ? 'FATAL' : fate === 'FENCED' ? 'FENCED' : 'UNKNOWN',
    )
  }
  const fenced = (): FencedAppender => {
    let broken: unknown
    return {
      get epoch() {
        return state.epoch
      },
      // As the client's: behind one that failed, nothing is written before it is renewed.
      append: async (record: OutRecord) => {
        if (broken !== undefined) return fail('RETRIABLE')
        try {
          return append(record.key?.toString() ?? `fence ${state.epoch}`)
        } catch (error) {
          if ((error as KafkaError).kind !== 'FATAL') broken = error
          throw error
        }
      },
      renew: async () => {
        calls.push('renew')
        broken = undefined
        state.epoch++
      },
      close: async () => void calls.push('close'),
      [Symbol.asyncDispose]: async () => {},
    }
  }
  const appender = new WaitingAppender({
    place,
    runtime,
    takeEpoch: async () => {
      calls.push('take')
      state.epoch++
      return fenced()
    },
    confirmMembership: async () => {
      calls.push('heartbeat')
      return state.isMember
    },
    confirmed: (one) => {
      one.isConfirmed = true
      confirmed.push(String(one.record.key))
    },
    fenced: () => void state.fences++,
    replaced: () => void state.replaced++,
    troubled: (error) => void troubles.push(error.message),
    recovered: () => void state.recovered++,
    fail: (error) => void failures.push(error),
  })
  const queued = new Map<string, Append>()
  const read = (): void => {
    for (const text of log) {
      const one = queued.get(text)
      if (one !== undefined) one.isConfirmed = true
    }
    appender.readTo(BigInt(log.length))
  }
  return {
    runtime,
    log,
    calls,
    fates,
    confirmed,
    troubles,
    failures,
    state,
    appender,
    read,
    run: async (ms = 60_000) => {
      for (let passed = 0; passed < ms; passed += 50) {
        await runtime.advance(50)
        if (state.isReading) read()
      }
    },
    append: (...names: readonly string[]) => {
      for (const name of names) {
        const entry = newEntry(originalAt(0, name), 'HELD', 0)
        const record = { topic: 'w', partition: 0, key: Buffer.from(name), value: null }
        const one: Append = { entry, kind: 'HELD', record, source: undefined, isDeath: false, isConfirmed: false }
        queued.set(name, one)
        appender.append(one)
      }
    },
  }
}

describe('WaitingAppender', () => {
  test('takes an epoch, writes a fence, asks the group, and reads up to the fence before it appends', async () => {
    const { appender, append, run, log, calls, state } = appenderScene()
    state.isReading = false
    appender.start(0n)
    append('a')
    await run(1_000)
    expect([log, calls, state.fences]).toEqual([['fence 1'], ['take', 'heartbeat'], 0])
    state.isReading = true
    await run(1_000)
    expect([log, state.fences, appender.unconfirmed]).toEqual([['fence 1', 'a'], 1, 0])
  })

  test('appends nothing while the group does not confirm the membership, and takes no further epoch', async () => {
    const { appender, append, run, log, calls, state, troubles } = appenderScene()
    state.isMember = false
    appender.start(0n)
    append('a')
    await run(30_000)
    expect(log).toEqual(['fence 1'])
    expect(calls.filter((call) => call !== 'heartbeat')).toEqual(['take'])
    expect(troubles.length).toBeGreaterThan(1)
    state.isMember = true
    await run()
    expect([log, state.recovered]).toEqual([['fence 1', 'a'], 1])
  })

  test('writes in the order of its queue, and confirms each', async () => {
    const { appender, append, run, log, confirmed } = appenderScene()
    appender.start(0n)
    append('a', 'b')
    await run(1_000)
    append('c')
    await run(1_000)
    expect([log, confirmed]).toEqual([
      ['fence 1', 'a', 'b', 'c'],
      ['a', 'b', 'c'],
    ])
  })

  test('writes what was refused again, with all behind it, in the same order', async () => {
    const { appender, append, run, log, fates, troubles, state } = appenderScene()
    appender.start(0n)
    await run(1_000)
    fates.push('REFUSED')
    append('a', 'b', 'c')
    await run()
    expect(log.filter((text) => !text.startsWith('fence'))).toEqual(['a', 'b', 'c'])
    expect([troubles.length, state.recovered]).toEqual([1, 1])
  })

  test('looks for an append of unknown fate behind a fence of the next epoch, and does not write it twice', async () => {
    const { appender, append, run, log, fates, calls } = appenderScene()
    appender.start(0n)
    await run(1_000)
    fates.push('UNKNOWN_WRITTEN')
    append('a', 'b')
    await run()
    expect(log).toEqual(['fence 1', 'a', 'fence 2', 'b'])
    expect(calls).toEqual(['take', 'heartbeat', 'renew'])
  })

  test('writes an append of unknown fate again when it was not found', async () => {
    const { appender, append, run, log, fates } = appenderScene()
    appender.start(0n)
    await run(1_000)
    fates.push('UNKNOWN')
    append('a', 'b')
    await run()
    expect(log).toEqual(['fence 1', 'fence 2', 'a', 'b'])
  })

  test('neither writes nor gives up while the fence behind an unknown append was not read', async () => {
    const { appender, append, run, log, fates, state } = appenderScene()
    appender.start(0n)
    await run(1_000)
    state.isReading = false
    fates.push('UNKNOWN')
    append('a')
    await run()
    expect([log, appender.unconfirmed, appender.isFencing]).toEqual([['fence 1', 'fence 2'], 1, true])
  })

  test('writes another fence when the fate of one is unknown', async () => {
    const { appender, append, run, log, fates, calls } = appenderScene()
    fates.push('UNKNOWN_WRITTEN')
    appender.start(0n)
    append('a')
    await run()
    expect([log, calls]).toEqual([
      ['fence 1', 'fence 2', 'a'],
      ['take', 'renew', 'heartbeat'],
    ])
  })

  test('asks the group after a newer epoch, and then begins anew', async () => {
    const { appender, append, run, log, fates, calls } = appenderScene()
    appender.start(0n)
    await run(1_000)
    calls.length = 0
    fates.push('FENCED')
    append('a')
    await run()
    expect(log).toEqual(['fence 1', 'fence 2', 'a'])
    expect(calls).toEqual(['close', 'heartbeat', 'take', 'heartbeat'])
  })

  test('takes no epoch from the one who has a newer one while the group does not confirm the membership', async () => {
    const { appender, append, run, log, fates, state, calls } = appenderScene()
    appender.start(0n)
    await run(1_000)
    state.isMember = false
    calls.length = 0
    fates.push('FENCED')
    append('a')
    await run(30_000)
    expect([log, calls.includes('take')]).toEqual([['fence 1'], false])
    await appender.stop()
    await run(30_000)
    expect(log).toEqual(['fence 1'])
  })

  test('keeps its epoch when a record is refused for what it is', async () => {
    const { appender, append, run, log, fates, calls } = appenderScene()
    appender.start(0n)
    await run(1_000)
    fates.push('TOO_LARGE', 'TOO_LARGE')
    append('a')
    await run()
    expect([log, calls]).toEqual([
      ['fence 1', 'a'],
      ['take', 'heartbeat'],
    ])
  })

  test('takes the next epoch when it is asked to renew, and appends go on behind it', async () => {
    const { appender, append, run, log, calls } = appenderScene()
    appender.start(0n)
    await run(1_000)
    appender.renew()
    await run(1_000)
    append('a')
    await run(1_000)
    expect([log, calls]).toEqual([
      ['fence 1', 'fence 2', 'a'],
      ['take', 'heartbeat', 'renew'],
    ])
  })

  test('does nothing more once it is stopped', async () => {
    const { appender, append, run, log, calls, failures } = appenderScene()
    appender.start(0n)
    await run(1_000)
    await appender.stop()
    append('a')
    appender.renew()
    await run()
    expect([log, calls.at(-1), failures, appender.unconfirmed]).toEqual([['fence 1'], 'close', [], 0])
  })
})

test('a fence below what was read says that the log is another one: nothing is appended to it', async () => {
  const { appender, append, run, log, state } = appenderScene()
  state.isReading = false
  appender.start(301n)
  append('a')
  await run(1_000)
  expect(state.replaced).toBeGreaterThan(0)
  expect([state.fences, log.filter((text) => text === 'a')]).toEqual([0, []])
  await appender.stop()
})
