import { errorCode } from '@waybill/kafka/wire'
import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import type { WaitingOwner } from './waiting-owner.ts'
import { place } from './waiting-place.ts'
import { type WaitingWorld, waitingWorld } from './waiting-world.ts'

watchRejections()

const atRest = (world: WaitingWorld): Promise<void> => world.eventually(() => expect(world.isAtRest()).toBe(true))

/** Nothing was broken, nobody failed, and nobody met a record that it had not written. */
function expectSound(world: WaitingWorld): void {
  expect(world.history.broken).toEqual([])
  expect(world.owners.flatMap(({ failures }) => failures)).toEqual([])
  expect(world.logger.lines.filter(({ text }) => text.includes('passed over'))).toEqual([])
}

function of(world: WaitingWorld, ...offsets: readonly number[]): number[] {
  return world.history.successes.filter((offset) => offsets.includes(offset))
}

/** The first owner is told that its source goes on here. */
function cutAt(world: WaitingWorld, offset: bigint): void {
  world.owners[0]?.worker?.positionLost(offset, place.source.topic)
}

describe('a record that fails', () => {
  test('holds back those behind it of its key, and no others', async () => {
    const ended = await waitingWorld(async (world) => {
      await world.write('a/2', 'a', 'b', '-/1', 'a', '-')
      await world.owner()
      await world.eventually(() => expect(of(world, 2, 5)).toHaveLength(2))
      expect(of(world, 0, 1, 4)).toEqual([])
      await atRest(world)
    })
    expectSound(ended)
    expect(of(ended, 0, 1, 4)).toEqual([0, 1, 4])
    expect(ended.history.successes).toHaveLength(6)
  })

  test('waits for its tier, also through a restart, and those behind it do not wait longer (I12)', async () => {
    const ended = await waitingWorld(
      async (world) => {
        await world.write('a/1', 'a')
        const first = await world.owner()
        await world.eventually(() => expect(world.waitingTexts()).toContain('HELD 1'))
        await first.stop()
        await world.owner()
        await atRest(world)
      },
      { binding: { retry: { tiers: [{ delayMs: 30_000, maxAttempts: 1 }] } } },
    )
    expectSound(ended)
    const [first = 0, second = 0] = ended.history.starts(0)
    expect(second - first).toBeGreaterThanOrEqual(30_000)
    expect(second - first).toBeLessThan(31_000)
    expect((ended.history.starts(1)[0] as number) - second).toBeLessThan(1_000)
  })

  test('is dead after its last attempt, and its key goes on', async () => {
    const ended = await waitingWorld(async (world) => {
      await world.write('a/x', 'a')
      await world.owner()
      await atRest(world)
    })
    expectSound(ended)
    expect(ended.deadLetters().map(({ original }) => original.offset)).toEqual([0n])
    expect(ended.history.successes).toEqual([1])
    expect(ended.lastCommit?.waiting?.counts).toMatchObject({ ok: 1n, dead: 1n })
  })

  test('stays where it is while the circuit is open, and runs when it closes', async () => {
    const ended = await waitingWorld(async (world) => {
      const owner = await world.owner()
      owner.isRefusing = true
      owner.meddle = () => (owner.isRefusing ? { kind: 'PAUSE', cause: 'BREAKER', failure: undefined } : undefined)
      await world.write('a', 'a')
      await world.eventually(() => expect(owner.worker?.status().pausedBy).toEqual(['BREAKER']))
      owner.isRefusing = false
      owner.worker?.resume('BREAKER')
      await atRest(world)
    })
    expectSound(ended)
    expect(ended.history.successes).toEqual([0, 1])
  })

  test('stops its partition when only an operator can help, and goes on when one says so', async () => {
    const ended = await waitingWorld(async (world) => {
      const owner = await world.owner()
      const failure = { error: new Error('no'), attempts: 1, atMs: 0 }
      let isAsked = false
      owner.meddle = () => (isAsked ? undefined : { kind: 'PAUSE', cause: 'EXHAUSTED', failure, scope: 'PARTITION' })
      await world.write('a', 'b')
      await world.eventually(() => expect(owner.worker?.status().pausedBy).toEqual(['EXHAUSTED']))
      isAsked = true
      owner.worker?.resume('EXHAUSTED')
      await atRest(world)
    })
    expectSound(ended)
    expect(new Set(ended.history.successes)).toEqual(new Set([0, 1]))
  })

  test('that is passed over counts as handled where it waits, so that the audit is even', async () => {
    const ended = await waitingWorld(async (world) => {
      const owner = await world.owner()
      owner.meddle = ({ kind }) =>
        kind === 'WAITING' ? { kind: 'SKIP', cause: 'UNHANDLED', failure: undefined } : undefined
      world.history.skipped.add(0)
      await world.write('a/1')
      await atRest(world)
    })
    expectSound(ended)
    expect(ended.lastCommit?.waiting).toMatchObject({ counts: { ok: 1n }, waitingNow: 0n })
  })
})

describe('a record behind one that waits', () => {
  test('is passed over when it was replayed for another group (C-71)', async () => {
    const ended = await waitingWorld(async (world) => {
      await world.owner()
      await world.write('a/1')
      await world.eventually(() => expect(world.waitingTexts()).toContain('HELD 0'))
      world.history.skipped.add(1)
      await world.writeForOthers('a', 0)
      await world.write('a')
      await atRest(world)
    })
    expectSound(ended)
    expect(ended.history.successes).toEqual([0, 2])
    expect(ended.lastCommit?.source.counts).toMatchObject({ skipped: 1n })
  })

  test('is handled in the order of its key when it only claims to be replayed for another group', async () => {
    const ended = await waitingWorld(async (world) => {
      await world.owner()
      await world.write('a/1')
      await world.eventually(() => expect(world.waitingTexts()).toContain('HELD 0'))
      await world.writeForOthers('a', 0, 'forged')
      await world.write('a')
      await atRest(world)
      await world.writeForOthers('a', 0, 'forged')
      await atRest(world)
    })
    expectSound(ended)
    expect(ended.history.successes).toEqual([0, 1, 2, 3])
  })
})

/** A turn finds out that record 0 is no replay, in the moment in which a neighbor ends and looks for the next turn. */
async function restarted(world: WaitingWorld): Promise<WaitingOwner> {
  world.handlerMs = () => 2_000
  await world.writeForOthers('a', 0)
  await world.write('b')
  world.history.skipped.add(1)
  const owner = await world.owner()
  owner.meddle = ({ offset }) => (offset === 1n ? { kind: 'SKIP', cause: 'UNHANDLED', failure: undefined } : undefined)
  await world.eventually(() => expect(world.history.starts(0)).toHaveLength(1))
  return owner
}

describe('a record that starts again in the moment it is put back', () => {
  test('counts as running while its handler does', async () => {
    const ended = await waitingWorld(async (world) => {
      const owner = await restarted(world)
      expect(owner.worker?.status().running).toBe(1)
      await atRest(world)
      expect(owner.worker?.status().running).toBe(0)
    })
    expectSound(ended)
  })

  test('is waited for by a clean stop (L5)', async () => {
    const ended = await waitingWorld(async (world) => {
      const owner = await restarted(world)
      await owner.stop()
      expect(world.history.successes).toEqual([0])
      await world.owner()
      await atRest(world)
    })
    expectSound(ended)
    expect(ended.history.starts(0)).toHaveLength(1)
  })
})

describe('keyOrder.onDeadKey BLOCK', () => {
  const binding = { keyOrder: { onDeadKey: 'BLOCK' } } as const

  test('keeps the key of a dead record blocked until it is released, and no other', async () => {
    const ended = await waitingWorld(
      async (world) => {
        await world.write('a/x', 'a', 'b', '-/x', '-')
        await world.owner()
        await world.eventually(() => expect(world.waitingTexts()).toContain('MARKER 0'))
        await world.eventually(() => expect(world.deadLetters()).toHaveLength(2))
        await world.runtime.timers.sleep(600_000)
        expect(new Set(of(world, 1, 2, 4))).toEqual(new Set([2, 4]))
        await world.release(world.deadLetters().find(({ original }) => original.offset === 0n)?.original as never)
        await atRest(world)
      },
      { binding },
    )
    expectSound(ended)
    expect(of(ended, 1)).toEqual([1])
    expect(ended.waitingTexts().filter((text) => text.startsWith('MARKER'))).toEqual(['MARKER 0'])
  })

  test('keeps it blocked through restarts and kills', async () => {
    const ended = await waitingWorld(
      async (world) => {
        await world.write('a/x', 'a')
        const first = await world.owner()
        await world.eventually(() => expect(world.waitingTexts()).toContain('MARKER 0'))
        first.kill()
        const second = await world.owner()
        await world.runtime.timers.sleep(60_000)
        await second.stop()
        await world.owner()
        await world.runtime.timers.sleep(60_000)
        expect(world.history.successes).toEqual([])
        await world.release(world.deadLetters()[0]?.original as never)
        await atRest(world)
      },
      { binding },
    )
    expectSound(ended)
    expect(ended.history.successes).toEqual([1])
  })

  test('lets a replay go first, and the key with its success', async () => {
    const ended = await waitingWorld(
      async (world) => {
        await world.write('a/x', 'a')
        await world.owner()
        await world.eventually(() => expect(world.waitingTexts()).toContain('MARKER 0'))
        Object.assign(world.history.records[0] as object, { failuresLeft: 1 })
        await world.replay(world.deadLetters()[0]?.original as never, 1)
        await atRest(world)
      },
      { binding },
    )
    expectSound(ended)
    expect(ended.history.successes).toEqual([0, 1])
    expect(ended.lastCommit?.waiting?.replaysFinished).toBe(1n)
  })

  test('blocks anew when the replay dies too, until that death is released', async () => {
    const ended = await waitingWorld(
      async (world) => {
        await world.write('a/x', 'a')
        await world.owner()
        await world.eventually(() => expect(world.waitingTexts()).toContain('MARKER 0'))
        await world.replay(world.deadLetters()[0]?.original as never, 1)
        await world.eventually(() => expect(world.deadLetters().map(({ replayCount }) => replayCount)).toEqual([0, 1]))
        await world.runtime.timers.sleep(60_000)
        expect(world.history.successes).toEqual([])
        await world.release(world.deadLetters()[0]?.original as never, 1)
        await atRest(world)
      },
      { binding },
    )
    expectSound(ended)
    expect(ended.history.successes).toEqual([1])
  })
})

describe('a clean stop', () => {
  test('repeats nothing, however many keys are in the middle of their retries (L5)', async () => {
    const ended = await waitingWorld(async (world) => {
      await world.write('b/2', 'b', 'b/1', 'b', 'a', 'c/1', 'c', '-/2')
      for (let round = 0; round < 6; round++) {
        const owner = await world.owner()
        await world.runtime.timers.sleep(1_300)
        await owner.stop()
      }
      await world.owner()
      await atRest(world)
    })
    expectSound(ended)
    expect(ended.history.successes).toHaveLength(8)
    expect(of(ended, 0, 1, 2, 3)).toEqual([0, 1, 2, 3])
  })

  test('appends what fails while it drains', async () => {
    const ended = await waitingWorld(async (world) => {
      world.handlerMs = () => 2_000
      await world.write('a/1', 'a')
      const owner = await world.owner()
      await world.eventually(() => expect(world.history.starts(0)).toHaveLength(1))
      await owner.stop()
      expect(world.lastCommit?.source).toMatchObject({ position: 1n, counts: { retried: 1n } })
      await world.owner()
      await atRest(world)
    })
    expectSound(ended)
    expect(ended.history.starts(0)).toHaveLength(2)
  })
})

const times = {
  'waiting.append': 5,
  'waiting.appended': 5,
  'dlt.publish': 2,
  'dlt.acked': 2,
  'commit.send': 8,
  'commit.acked': 8,
}
const kills = Object.entries(times).flatMap(([point, most]) =>
  Array.from({ length: most }, (_, index) => ({ point, time: index + 1 })),
)

describe.each(['RELEASE', 'BLOCK'] as const)('a kill, with onDeadKey %s', (onDeadKey) => {
  test.each(kills)(
    'at $point, time $time, loses nothing and leaves every key in its order',
    async ({ point, time }) => {
      let left = time
      const ended = await waitingWorld(
        async (world) => {
          world.failpoint = (name) => {
            if (name !== point || --left !== 0) return undefined
            world.current?.kill()
            return new Promise(() => {}) // It ends here.
          }
          await world.write('a/1', 'a', 'b/x', 'b', 'a/x', 'a', '-/1')
          await world.owner()
          await world.runtime.timers.sleep(8_000)
          await world.owner()
          await world.eventually(() => expect(world.deadLetters().length).toBeGreaterThanOrEqual(2))
          await world.runtime.timers.sleep(10_000)
          if (onDeadKey === 'BLOCK') for (const { original } of world.deadLetters()) await world.release(original)
          await atRest(world)
          world.history.checkEnd()
        },
        { binding: { keyOrder: { onDeadKey } } },
      )
      expectSound(ended)
      expect(left).toBeLessThanOrEqual(0)
    },
  )
})

describe('an owner that outlives its partition', () => {
  test('writes nothing behind the fence of the next one', async () => {
    const ended = await waitingWorld(async (world) => {
      world.handlerMs = () => 3_000
      await world.write('a/1', 'a')
      const zombie = await world.owner()
      await world.eventually(() => expect(world.history.starts(0)).toHaveLength(1))
      // The append of a0 is on its way when everything of it stands still.
      const stalled = world.sim.stall({ client: zombie.name })
      await world.owner()
      await world.runtime.timers.sleep(60_000)
      stalled[Symbol.dispose]()
      await atRest(world)
      await world.runtime.timers.sleep(60_000)
    })
    expectSound(ended)
    const texts = ended.waitingTexts()
    expect(texts.filter((text) => text === 'HELD 0')).toHaveLength(texts.lastIndexOf('HELD 0') >= 0 ? 1 : 0)
    expect(of(ended, 0, 1).slice(-2)).toEqual([0, 1])
  })

  test('that is expelled and comes back as a member begins anew, and takes nothing from the new owner', async () => {
    const ended = await waitingWorld(async (world) => {
      await world.write('a/2', 'a', 'b/1')
      const first = await world.owner()
      await world.eventually(() => expect(world.waitingTexts()).toContain('HELD 0'))
      await world.owner()
      first.expel()
      await atRest(world)
    })
    expectSound(ended)
    expect(of(ended, 0, 1).slice(-2)).toEqual([0, 1])
  })
})

describe('an append', () => {
  test('of unknown fate is in the log once', async () => {
    const ended = await waitingWorld(async (world) => {
      const owner = await world.owner()
      await world.eventually(() => expect(world.lastCommit).toBeDefined())
      const lost = world.sim.dropResponses({ client: owner.name, api: 'Produce' })
      await world.write('a/1', 'a')
      await world.runtime.timers.sleep(45_000)
      expect(owner.worker?.status()).toMatchObject({ trouble: expect.any(String), pausedBy: ['DEAD_LETTER_FAILURE'] })
      lost[Symbol.dispose]()
      await atRest(world)
      expect(owner.worker?.status()).toMatchObject({ trouble: undefined, pausedBy: [] })
    })
    expectSound(ended)
    const texts = ended.waitingTexts()
    expect(texts.filter((text) => text === 'HELD 0')).toHaveLength(1)
    expect(texts.filter((text) => text === 'FENCE').length).toBeGreaterThan(1)
    expect(ended.history.successes).toEqual([0, 1])
  })

  test('that is refused is repeated with all behind it', async () => {
    const ended = await waitingWorld(async (world) => {
      await world.owner()
      await world.eventually(() => expect(world.lastCommit).toBeDefined())
      await world.write('a/1', 'a', 'b/1')
      for (let time = 0; time < 3; time++) world.sim.failNext('Produce', errorCode.MESSAGE_TOO_LARGE)
      await atRest(world)
    })
    expectSound(ended)
    expect(ended.waitingTexts().filter((text) => text.startsWith('HELD'))).toHaveLength(3)
  })
})

describe('the bounds', () => {
  test('as many wait as may, then the source stands still, and nothing is dropped', async () => {
    const ended = await waitingWorld(
      async (world) => {
        await world.write('a/2', ...Array.from({ length: 20 }, () => 'a'))
        const owner = await world.owner()
        await world.eventually(() => expect(owner.worker?.status().pausedBy).toContain('WAITING_FULL'))
        expect(owner.worker?.status().waiting).toBeLessThanOrEqual(3 + 4)
        await atRest(world)
        expect(owner.worker?.status()).toMatchObject({ pausedBy: [], waiting: 0 })
      },
      { binding: { keyOrder: { maxWaitingRecords: 3 }, maxAhead: 4 } },
    )
    expectSound(ended)
    expect(ended.history.successes).toEqual(Array.from({ length: 21 }, (_, offset) => offset))
  })

  test('bytes count as well as records', async () => {
    const ended = await waitingWorld(
      async (world) => {
        await world.write('a/2', 'a', 'a', 'a', 'a')
        const owner = await world.owner()
        await world.eventually(() => expect(owner.worker?.status().pausedBy).toContain('WAITING_FULL'))
        await atRest(world)
      },
      { binding: { keyOrder: { maxWaitingBytes: 1 }, maxAhead: 2 } },
    )
    expectSound(ended)
  })

  test('a kill repeats no more than may be ahead of the commit (L5)', async () => {
    const ended = await waitingWorld(
      async (world) => {
        await world.write(...Array.from({ length: 30 }, (_, index) => `k${index}`))
        world.failpoint = (name) =>
          name === 'commit.send' && world.commits.length > 0 ? new Promise(() => {}) : undefined
        const owner = await world.owner()
        await world.runtime.timers.sleep(30_000)
        expect(world.history.successes.length).toBeLessThanOrEqual(5)
        expect(owner.worker?.status().running).toBe(0)
        owner.kill()
        world.failpoint = () => {}
        await world.owner()
        await atRest(world)
      },
      { binding: { maxAhead: 5 } },
    )
    expectSound(ended)
    expect(ended.history.successes.length).toBeLessThanOrEqual(30 + 5)
  })

  test('a record that waits for long is written again before a commit has to remember too much', async () => {
    const spans: number[] = []
    const ended = await waitingWorld(
      async (world) => {
        await world.owner()
        await world.write('a/x', 'a')
        await world.eventually(() => expect(world.waitingTexts()).toContain('MARKER 0'))
        for (let round = 0; round < 40; round++) {
          await world.write('b/1')
          await world.runtime.timers.sleep(3_000)
          spans.push(world.lastCommit?.waiting?.settledAbove.span ?? 0)
        }
        await world.release(world.deadLetters()[0]?.original as never)
        await atRest(world)
      },
      { binding: { keyOrder: { onDeadKey: 'BLOCK', maxWaitingRecords: 3 }, maxAhead: 3 } },
    )
    expectSound(ended)
    expect(Math.max(...spans)).toBeGreaterThan(6)
    expect(Math.max(...spans)).toBeLessThanOrEqual(2 * (3 + 3) + 4)
    const markers = ended.waitingTexts().filter((text) => text === 'MARKER 0')
    expect(markers.length).toBeGreaterThan(1)
    expect(markers.length).toBeLessThan(20)
    expect(of(ended, 1)).toEqual([1])
  })
})

describe('a group that somebody has reset', () => {
  test('counts anew, says so, and keeps what waits', async () => {
    const ended = await waitingWorld(async (world) => {
      await world.write('a/2', 'a', 'b')
      const first = await world.owner()
      await world.eventually(() => expect(world.lastCommit?.waiting?.waitingNow).toBe(2n))
      await first.stop()
      await world.resetGroup(3n)
      const second = await world.owner()
      await atRest(world)
      expect(second.problems).toEqual(['the commit has no metadata'])
    })
    expect(ended.history.broken).toEqual(['I20: the commit has no metadata'])
    expect(of(ended, 0, 1)).toEqual([0, 1])
    expect(ended.lastCommit?.source).toMatchObject({ since: 3n, counts: { retried: 0n } })
    expect(ended.lastCommit?.waiting).toMatchObject({ replaysFinished: 2n, counts: { ok: 2n } })
  })

  test('to before what waits, repeats those from the source, in their order', async () => {
    const ended = await waitingWorld(async (world) => {
      await world.write('a/2', 'a', 'b')
      const first = await world.owner()
      await world.eventually(() => expect(world.lastCommit?.waiting?.waitingNow).toBe(2n))
      await first.stop()
      await world.resetGroup(0n)
      await world.owner()
      await atRest(world)
    })
    expect(ended.history.broken).toEqual(['I20: the commit has no metadata'])
    expect(of(ended, 0, 1)).toEqual([0, 1])
  })
})

describe('a log that lost its beginning', () => {
  test('goes on behind it, and what is missing is accounted for as holes', async () => {
    const ended = await waitingWorld(async (world) => {
      await world.write('a/2', 'a')
      const first = await world.owner()
      await world.eventually(() => expect(world.lastCommit?.waiting?.waitingNow).toBe(2n))
      await first.stop()
      await world.write('b', 'b', 'c', 'a')
      for (const offset of [2, 3]) world.history.skipped.add(offset)
      world.sim.deleteRecords(place.source.topic, 0, 4n)
      await world.owner()
      await atRest(world)
    })
    expectSound(ended)
    expect(of(ended, 0, 1, 5)).toEqual([0, 1, 5])
    expect(ended.lastCommit?.source.counts).toMatchObject({ holes: 2n })
  })
})

describe('pausing', () => {
  test('for an operator starts nothing, reads on in the waiting topic, and ends as it began', async () => {
    const ended = await waitingWorld(async (world) => {
      await world.write('a/1', 'a')
      const owner = await world.owner()
      await world.eventually(() => expect(world.waitingTexts()).toContain('HELD 0'))
      owner.worker?.pause('OPERATOR')
      await world.runtime.timers.sleep(60_000)
      expect(world.history.starts(0)).toHaveLength(1)
      expect(owner.worker?.status()).toMatchObject({ pausedBy: ['OPERATOR'], running: 0 })
      owner.worker?.resume('OPERATOR')
      await atRest(world)
    })
    expectSound(ended)
    expect(ended.history.successes).toEqual([0, 1])
  })
})

describe('a source that is cut between what is settled and what was fetched', () => {
  test('is read again from what is settled, in the order of its keys', async () => {
    const ended = await waitingWorld(async (world) => {
      world.handlerMs = () => 1_000
      await world.write('a', 'b', 'a', 'c')
      await world.owner()
      await world.eventually(() => expect(world.history.starts(3)).toHaveLength(1))
      cutAt(world, 3n)
      await atRest(world)
    })
    expectSound(ended)
    expect([0, 1, 2, 3].map((offset) => ended.history.starts(offset).length)).toEqual([2, 2, 1, 2])
    expect(ended.lastCommit?.source.counts).toMatchObject({ ok: 4n, holes: 0n })
  })

  test('brings what waits once more: it waits on, and is handled once', async () => {
    const ended = await waitingWorld(async (world) => {
      let calls = 0
      world.handlerMs = () => (calls++ === 0 ? 5_000 : 1)
      await world.write('b', 'a/1', 'a', 'c')
      await world.owner()
      await world.eventually(() => expect(world.waitingTexts()).toContain('HELD 2'))
      cutAt(world, 3n)
      await atRest(world)
    })
    expectSound(ended)
    expect(of(ended, 1, 2)).toEqual([1, 2])
    expect(ended.lastCommit?.source.counts).toMatchObject({ ok: 2n, retried: 0n, skipped: 2n })
  })

  test('I1: settles what waits only when that is written, also when it is read once more meanwhile', async () => {
    const ended = await waitingWorld(async (world) => {
      const owner = await world.owner()
      await world.eventually(() => expect(world.waitingTexts()).toContain('FENCE'))
      await world.write('a/1', 'c/1')
      const stalled = world.sim.stall({ api: 'Produce', client: owner.name })
      await world.eventually(() => expect(owner.worker?.status().waiting).toBe(2))
      cutAt(world, 1n)
      await world.write('b')
      await world.eventually(() => expect(of(world, 2)).toHaveLength(1))
      expect(owner.worker?.status()).toMatchObject({ watermark: 0n, waiting: 2 })
      stalled[Symbol.dispose]()
      await atRest(world)
    })
    expectSound(ended)
    expect(ended.history.successes).toEqual([2, 0, 1])
    expect(ended.lastCommit?.source.counts).toMatchObject({ ok: 1n, retried: 2n, skipped: 0n })
  })

  test('L5: a commit of before that is acknowledged afterwards does not count', async () => {
    const ended = await waitingWorld(async (world) => {
      await world.write('a', 'b', 'c')
      const owner = await world.owner()
      await atRest(world)
      const current = owner.worker
      current?.repeatCommit()
      const underWay = current?.pendingCommit() ?? []
      cutAt(world, 0n)
      current?.committed(underWay)
      expect(underWay).toHaveLength(2)
      expect(current?.status()).toMatchObject({ watermark: 0n, committed: 0n })
    })
    expectSound(ended)
  })
})
