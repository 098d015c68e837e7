import { Buffer } from 'node:buffer'
import { type EngineEvents, onEngineEvent, RecordHeaders } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { DeadLetterReplay, DeadLetterSelection } from '../../src/api/dead-letter-selection.ts'
import type { StoredDeadLetter } from '../../src/api/dead-letter-types.ts'
import { createConnector } from '../../src/engine/create-connector.ts'
import { inSimulation } from '../support/behaviour-scene.ts'
import { ReplayScene } from './replay-behaviour.ts'

const operator = { by: 'test' }
const operation = 'op_01KD0ZW3V8Q4N6T2X5YB7C9D1E'

const inScene = (
  given: Partial<Binding>,
  program: (scene: ReplayScene) => Promise<void>,
  partitions = 2,
): Promise<void> =>
  inSimulation(async (place) => {
    const scene = new ReplayScene(place, await place.createTopic(partitions), given)
    try {
      await scene.start()
      await program(scene)
    } finally {
      await scene.stop()
    }
  })

/** Replays all of a selection in batches, and returns what became of it. */
async function runAll(
  replay: DeadLetterReplay,
  maxSelected = 2,
): Promise<{ sent: number; reasons: string[]; scanned: number }> {
  const sum = { sent: 0, reasons: [] as string[], scanned: 0 }
  for (let batch = await replay.next(maxSelected); batch !== undefined; batch = await replay.next(maxSelected)) {
    expect(batch.selected.length).toBeLessThanOrEqual(maxSelected)
    const result = await replay.send(batch)
    expect(result.failure).toBeUndefined()
    sum.sent += result.sent.length
    sum.scanned += batch.scanned
    sum.reasons.push(...[...batch.refused, ...result.refused].map(({ reason }) => reason))
  }
  return sum
}

async function openAll(scene: ReplayScene, where?: DeadLetterSelection['where']): Promise<DeadLetterReplay> {
  const ranges = await scene.admin.deadLetterRanges('work', operator)
  return scene.admin.openReplay('work', { ranges, where }, { to: 'BINDING', operation }, operator)
}

const startsWith = (text: string) => (letter: StoredDeadLetter) => String(letter.record.value).startsWith(text)

/** Collects the outcomes of copies while a program runs. */
async function outcomesOf(program: (seen: EngineEvents['replay:settled'][]) => Promise<void>): Promise<void> {
  const seen: EngineEvents['replay:settled'][] = []
  using _ = onEngineEvent('replay:settled', (event) => void seen.push(event))
  await program(seen)
}

describe('a replay in steps', () => {
  test('S0-184 copies what its predicate selects, and a replay by count finds all others', () =>
    inScene({}, async (scene) => {
      await scene.bury(['a1', 'b1', 'a2', 'b2', 'b3'])
      scene.isFixed = true
      await using replay = await openAll(scene, startsWith('a'))
      expect(await runAll(replay)).toEqual({ sent: 2, reasons: [], scanned: 5 })
      await scene.until(() => expect(scene.values).toEqual(['a1', 'a2']))
      expect(await scene.admin.replayDlt('work', { count: 10 }, operator)).toMatchObject({ replayed: 5, remaining: 0n })
    }))

  test('counts a text of the predicate as the reason of a refusal', () =>
    inScene({}, async (scene) => {
      await scene.bury(['a1', 'b1'])
      scene.isFixed = true
      await using replay = await openAll(scene, (letter) => (startsWith('b')(letter) ? 'NOT_OPEN' : true))
      expect(await runAll(replay)).toEqual({ sent: 1, reasons: ['NOT_OPEN'], scanned: 2 })
    }))

  test('does not see dead letters that were written after its ranges were read', () =>
    inScene({}, async (scene) => {
      await scene.bury(['a1'])
      const ranges = await scene.admin.deadLetterRanges('work', operator)
      await scene.bury(['a2'])
      scene.isFixed = true
      await using replay = await scene.admin.openReplay('work', { ranges }, { to: 'BINDING' }, operator)
      expect(await runAll(replay)).toMatchObject({ sent: 1 })
    }))

  test('names what is not read yet, so that another replay continues there', () =>
    inScene({}, async (scene) => {
      await scene.bury(['a1', 'a2', 'a3', 'a4', 'a5'])
      scene.isFixed = true
      const first = await openAll(scene)
      const batch = await first.next(2)
      await first.send(batch as NonNullable<typeof batch>)
      await first[Symbol.asyncDispose]()
      const ranges = batch?.remaining ?? []
      await using second = await scene.admin.openReplay('work', { ranges }, { to: 'BINDING' }, operator)
      expect(await runAll(second)).toMatchObject({ sent: 3 })
      await scene.until(() => expect(scene.values).toEqual(['a1', 'a2', 'a3', 'a4', 'a5']))
    }))

  test('reads, but does not write, as a dry run', () =>
    inScene({}, async (scene) => {
      await scene.bury(['a1'])
      const ranges = await scene.admin.deadLetterRanges('work', operator)
      await using replay = await scene.admin.openReplay('work', { ranges }, { to: 'BINDING', dryRun: true }, operator)
      const batch = await replay.next(10)
      expect(batch?.selected).toHaveLength(1)
      await expect(replay.send(batch as NonNullable<typeof batch>)).rejects.toThrow('A dry run writes nothing')
    }))

  test('writes an edited value and edited headers, and who edited them', () =>
    inScene({}, async (scene) => {
      await scene.bury(['a1'])
      scene.isFixed = true
      const ranges = await scene.admin.deadLetterRanges('work', operator)
      const edit = {
        value: Buffer.from('fixed'),
        setHeaders: { source: 'ana', 'x-eventbus-dlt-reason': 'x' },
        removeHeaders: ['tenant'],
      }
      await using replay = await scene.admin.openReplay('work', { ranges }, { to: 'ORIGINAL', edit }, operator)
      expect(await runAll(replay)).toMatchObject({ sent: 1 })
      const copy = (await scene.read(scene.topic)).at(-1)
      const headers = RecordHeaders.from(copy?.headers ?? [])
      expect(String(copy?.value)).toBe('fixed')
      expect(
        ['source', 'tenant', 'x-eventbus-dlt-reason', 'x-eventbus-edited-by'].map((name) => headers.text(name)),
      ).toEqual(['ana', undefined, undefined, 'test'])
      await scene.until(() => expect(scene.values).toEqual(['fixed']))
    }))

  test('refuses a tier that does not exist, and options that it does not know', () =>
    inScene({}, async (scene) => {
      const open = (options: object) =>
        scene.admin.openReplay('work', { ranges: [] }, options as { to: 'BINDING' }, operator)
      await expect(open({ to: { tier: 3 } })).rejects.toThrow('Tier 3 out of range [1..2]')
      await expect(open({ to: 'BINDING', maxReplay: 1 })).rejects.toThrow('maxReplays')
      await expect(open({ to: 'RELEASE' })).rejects.toThrow('block no keys')
    }))
})

describe('single dead letters', () => {
  test('S0-184 are read, replayed and left where the position of replays is', () =>
    inScene({}, async (scene) => {
      await scene.bury(['a1', 'a2', 'a3'])
      scene.isFixed = true
      const [, second] = (await scene.read(scene.dlt)).toSorted((one, other) => Number(one.offset - other.offset))
      const position = { topic: scene.dlt, partition: second?.partition ?? 0, offset: second?.offset ?? 0n }
      const found = await scene.admin.deadLetter('work', position, operator)
      expect(String(found?.record.value)).toBe(String(second?.value))
      const report = await scene.admin.replayDeadLetters('work', [position], { to: 'BINDING' }, operator)
      expect(report).toEqual({ replayed: 1, skipped: {}, remaining: 0n })
      await scene.until(() => expect(scene.values).toEqual([String(second?.value)]))
      expect(await scene.admin.dltStats('work', operator)).toMatchObject({ notReplayed: 3n })
    }))

  test('that do not exist, or lie in another topic, are undefined', () =>
    inScene({}, async (scene) => {
      await scene.bury(['a1'])
      for (const position of [
        { topic: scene.dlt, partition: 0, offset: 77n },
        { topic: scene.dlt, partition: 9, offset: 0n },
        { topic: scene.topic, partition: 0, offset: 0n },
      ])
        expect(await scene.admin.deadLetter('work', position, operator)).toBeUndefined()
    }))

  test('D21 release their key', () =>
    inScene({ orderingMode: 'KEY', parallelism: 'KEY', keyOrder: { onDeadKey: 'BLOCK' } }, async (scene) => {
      await scene.bury(['a1'])
      scene.isFixed = true
      await scene.write([{ key: Buffer.from('a'), value: Buffer.from('a2') }])
      const [dead] = await scene.read(scene.dlt)
      const { topic, partition, offset } = dead ?? { topic: '', partition: 0, offset: 0n }
      const report = await scene.admin.replayDeadLetters(
        'work',
        [{ topic, partition, offset }],
        { to: 'RELEASE' },
        operator,
      )
      expect(report).toMatchObject({ replayed: 1 })
      await scene.until(() => expect(scene.values).toEqual(['a2']))
    }))
})

describe('outcomes of copies', () => {
  test('are announced with their operation, and first outcomes are told from later ones', () =>
    inScene({ retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100 }] } }, (scene) =>
      outcomesOf(async (seen) => {
        await scene.bury(['a1'])
        const replay = await openAll(scene)
        await runAll(replay)
        await replay[Symbol.asyncDispose]()
        await scene.until(() => expect(seen).toHaveLength(1))
        expect(seen[0]).toMatchObject({
          binding: 'work',
          cluster: 'default',
          operation,
          outcome: 'DEAD_LETTER',
          isFirst: true,
          topic: `${scene.topic}.retry-1`,
          originalTopic: scene.topic,
          claimedOriginal: { topic: scene.topic },
        })
        const [, again] = await scene.read(scene.dlt)
        expect(RecordHeaders.from(again?.headers ?? []).text('x-eventbus-replay-operation')).toBe(operation)
        scene.isFixed = true
        await using second = await openAll(scene)
        await runAll(second)
        await scene.until(() => expect(seen.map(({ outcome }) => outcome)).toEqual(['DEAD_LETTER', 'DONE', 'DONE']))
      }),
    ))

  test('that went to a retry tier are announced again there', () => {
    let failures = 1
    const handler = ({ value }: { readonly value: Buffer | null }, { headers }: { headers: RecordHeaders }) => {
      if (headers.has('x-eventbus-replay-count') && failures-- <= 0) return
      throw headers.has('x-eventbus-replay-count') ? new Error('again') : Object.assign(new TypeError(String(value)))
    }
    const given = {
      handler,
      retry: {
        tier0: { maxAttempts: 1 },
        tiers: [{ delayMs: 100 }, { delayMs: 200 }],
        nonRetryableExceptions: ['TypeError'],
      },
    } as unknown as Partial<Binding>
    return inScene(given, (scene) =>
      outcomesOf(async (seen) => {
        await scene.bury(['a1'])
        await using replay = await openAll(scene)
        await runAll(replay)
        await scene.until(() => expect(seen).toHaveLength(2))
        expect(seen.map(({ outcome, isFirst }) => [outcome, isFirst])).toEqual([
          ['RETRY', true],
          ['DONE', false],
        ])
      }),
    )
  })

  test.each([
    ['in batches', { listenerType: 'BATCH' }],
    ['in order of their keys', { orderingMode: 'KEY', parallelism: 'KEY' }],
  ] as const)('are announced for a binding that handles records %s', (_, given) =>
    inScene(given, (scene) =>
      outcomesOf(async (seen) => {
        await scene.bury(['a1', 'a2', 'b1'])
        scene.isFixed = true
        const ranges = await scene.admin.deadLetterRanges('work', operator)
        await using replay = await scene.admin.openReplay('work', { ranges }, { to: 'ORIGINAL', operation }, operator)
        await runAll(replay)
        await scene.until(() => expect(seen.map(({ outcome }) => outcome)).toEqual(['DONE', 'DONE', 'DONE']))
        expect(seen.every(({ isFirst }) => isFirst)).toBe(true)
      }),
    ),
  )
})

describe('a purge of frozen ranges', () => {
  test('deletes what was there when they were read, once', () =>
    inScene({}, async (scene) => {
      await scene.bury(['a1', 'b1'])
      const { ranges } = await scene.admin.purgeDlt('work', 0, operator, { dryRun: true })
      await scene.bury(['a2'])
      expect(await scene.admin.purgeDltRanges('work', ranges, operator)).toBe(2n)
      expect(await scene.admin.purgeDltRanges('work', ranges, operator)).toBe(0n)
      expect((await scene.read(scene.dlt)).map(({ value }) => String(value))).toEqual(['a2'])
    }))
})

describe('the audit log', () => {
  test('I21 has an entry before a replay in steps and one with its counts, and none of a dry run', () =>
    inScene({}, async (scene) => {
      await scene.bury(['a1'])
      const entries: unknown[] = []
      const connector = createConnector({
        administration: { auditLog: { write: (entry) => void entries.push(entry) }, permits: ({ by }) => by === 'ana' },
        clusters: { default: scene.place.client },
        runtime: scene.place.runtime,
        bindings: { work: { topic: scene.topic, groupId: scene.groupId, handler: () => {} } },
      })
      const { admin } = connector
      const ranges = await admin.deadLetterRanges('work', { by: 'ana' })
      const plan = await admin.openReplay('work', { ranges }, { to: 'ORIGINAL', dryRun: true }, { by: 'ana' })
      await plan[Symbol.asyncDispose]()
      expect(entries).toEqual([])
      await expect(admin.openReplay('work', { ranges }, { to: 'ORIGINAL' }, { by: 'eve' })).rejects.toThrow(
        'may not REPLAY',
      )
      const edit = { value: Buffer.from('secret') }
      const replay = await admin.openReplay('work', { ranges }, { to: 'ORIGINAL', operation, edit }, { by: 'ana' })
      await runAll(replay)
      await replay[Symbol.asyncDispose]()
      expect(entries).toMatchObject([
        { by: 'eve', operation: 'REPLAY', outcome: 'REFUSED' },
        { by: 'ana', operation: 'EDIT_REPLAY', outcome: 'ASKED', request: { operation, edit: { valueBytes: 6 } } },
        {
          by: 'ana',
          operation: 'EDIT_REPLAY',
          outcome: 'DONE',
          detail: { sent: 1, refused: 0, unsent: 0, unknown: 0 },
        },
      ])
      expect(JSON.stringify(entries)).not.toContain('secret')
      await connector.stop()
    }))
})
