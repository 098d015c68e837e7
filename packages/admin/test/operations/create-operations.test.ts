import { Buffer } from 'node:buffer'
import { applicationOperator, createMemoryMetrics } from '@waybill/core'
import { createMemoryDeadLetterIndex, type OperationStore } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'
import { standardFingerprint } from '../../src/dead-letters/fingerprint.ts'
import { ana, inScene } from './operations-scene.ts'

const carriers = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8']
const everything = { type: 'REPLAY', binding: 'shipping', filter: {} } as const

describe('a replay as an operation', () => {
  test('S0-184 sends what its filter selects, once, and counts the outcomes', () =>
    inScene(async (scene) => {
      await scene.bury([...carriers, 's1', 's2'])
      scene.fails = (value) => value === 'c1'
      const operations = await scene.operations()
      const { id } = await operations.create({ ...everything, filter: { exception: 'CarrierError' } }, ana)
      const done = await scene.reached(id, 'DONE')
      expect(done.progress).toMatchObject({ scanned: 10n, sent: 8n, refused: {}, mayBeRepeated: 0n, remaining: [] })
      await scene.until(async () => {
        const { outcomes } = (await operations.get(id)) ?? {}
        expect(outcomes).toEqual({ succeeded: 7n, retrying: 0n, failedAgain: 1n, skipped: 0n })
      })
      expect(scene.handled.toSorted()).toEqual(carriers.slice(1))
    }))

  test('counts its records, and is a gauge until it ends', () =>
    inScene(async (scene) => {
      await scene.bury(carriers)
      const metrics = createMemoryMetrics()
      const operations = await scene.operations({ runtime: { ...scene.runtime, metrics } })
      const running = { type: 'REPLAY', state: 'RUNNING' }
      const { id } = await operations.create({ ...everything, rate: 0.1 }, ana)
      await scene.until(async () => expect(metrics.latest('eventbus.operations', running)).toBe(1))
      await operations.setRate(id, 1_000, ana)
      await scene.reached(id, 'DONE')
      await scene.until(async () => expect(metrics.latest('eventbus.operations', running)).toBe(0))
      expect(metrics.total('eventbus.operation.records', { type: 'REPLAY', outcome: 'SENT' })).toBe(8)
      const dead = { binding: 'shipping', cluster: 'default', outcome: 'DEAD_LETTER' }
      await scene.until(async () => expect(metrics.total('eventbus.replay.settled', dead)).toBe(8))
    }))

  test('does not touch what died after it was created', () =>
    inScene(async (scene) => {
      await scene.bury(['c1'])
      const operations = await scene.operations()
      const { id } = await operations.create(everything, ana, { dryRun: true })
      await scene.bury(['c1', 'c2'])
      scene.fails = () => false
      await operations.wish(id, 'START', ana)
      expect((await scene.reached(id, 'DONE')).progress.sent).toBe(1n)
    }))

  test('shows a plan with counts and reasons before it is started', () =>
    inScene(async (scene) => {
      await scene.bury(['c1', 's1'])
      const operations = await scene.operations()
      const before = await operations.create({ ...everything, filter: { exception: 'SchemaError' } }, ana)
      await scene.reached(before.id, 'DONE')
      await scene.until(async () => expect((await scene.connector.admin.dltStats('shipping', ana)).count).toBe(3))
      const planned = await operations.create({ ...everything, maxReplays: 1 }, ana, { dryRun: true })
      expect(planned.state).toBe('PLANNED')
      expect(planned.plan).toMatchObject({
        scanned: '3',
        matched: '3',
        eligible: '2',
        refused: { MAX_REPLAYS: '1' },
        keys: '2',
        bytes: '8',
      })
      await scene.runtime.timers.sleep(10_000)
      expect((await operations.get(planned.id))?.state).toBe('PLANNED')
      await operations.wish(planned.id, 'START', ana)
      const done = await scene.reached(planned.id, 'DONE')
      expect(done.progress).toMatchObject({ sent: 2n, refused: { MAX_REPLAYS: 1n } })
      const { items } = await operations.items(planned.id, 'REFUSED', { limit: 10 })
      expect(items).toMatchObject([{ topic: 'orders.DLT', detail: 'MAX_REPLAYS' }])
    }))

  test('keeps its rate, and takes another one while it runs', () =>
    inScene(async (scene) => {
      await scene.bury(carriers)
      scene.fails = () => false
      const operations = await scene.operations()
      const started = scene.runtime.clock.monotonic()
      const { id } = await operations.create({ ...everything, rate: 0.5 }, ana)
      await scene.until(async () => expect((await operations.get(id))?.progress.sent).toBe(2n))
      expect(scene.runtime.clock.monotonic() - started).toBeGreaterThanOrEqual(2_000)
      await operations.setRate(id, 1_000, ana)
      await scene.reached(id, 'DONE')
      expect(scene.runtime.clock.monotonic() - started).toBeLessThan(10_000)
    }))

  test('stops at its limit', () =>
    inScene(async (scene) => {
      await scene.bury(carriers)
      const operations = await scene.operations()
      const { id } = await operations.create({ ...everything, limit: 3 }, ana)
      expect((await scene.reached(id, 'DONE')).progress.sent).toBe(3n)
    }))

  test('waits for the outcomes of its canary, pauses, and continues when it is resumed', () =>
    inScene(async (scene) => {
      await scene.bury(carriers)
      scene.fails = () => false
      const operations = await scene.operations()
      const { id } = await operations.create(
        { ...everything, canary: { count: 3, settleMs: 60_000, onSettled: 'PAUSE' } },
        ana,
      )
      const paused = await scene.reached(id, 'PAUSED')
      expect([paused.pausedBy, paused.progress.sent, paused.outcomes.succeeded]).toEqual(['CANARY', 3n, 3n])
      await operations.wish(id, 'RESUME', ana)
      expect((await scene.reached(id, 'DONE')).progress).toMatchObject({ sent: 8n, mayBeRepeated: 0n })
      await scene.until(() => expect(scene.handled.toSorted()).toEqual(carriers))
    }))

  test('pauses when too many copies fail, and continues if an operator resumes it in spite of them', () =>
    inScene(async (scene) => {
      await scene.bury(carriers)
      const operations = await scene.operations()
      const abortWhen = { failureRate: 0.5, minimum: 2 }
      const { id } = await operations.create({ ...everything, rate: 1, abortWhen }, ana)
      const paused = await scene.reached(id, 'PAUSED')
      expect(paused.pausedBy).toBe('ABORT_RULE')
      expect(paused.progress.sent).toBeLessThan(8n)
      scene.fails = () => false
      await operations.setRate(id, 100, ana)
      await operations.wish(id, 'RESUME', ana)
      expect((await scene.reached(id, 'DONE')).progress).toMatchObject({ sent: 8n, mayBeRepeated: 0n })
    }))

  test('is paused, resumed and cancelled between two batches', () =>
    inScene(async (scene) => {
      await scene.bury(carriers)
      scene.fails = () => false
      const operations = await scene.operations()
      const { id } = await operations.create({ ...everything, rate: 1 }, ana)
      await scene.until(async () => expect((await operations.get(id))?.progress.sent).toBe(2n))
      await operations.wish(id, 'PAUSE', ana)
      const { progress } = await scene.reached(id, 'PAUSED')
      await scene.runtime.timers.sleep(5_000)
      expect((await operations.get(id))?.progress).toEqual(progress)
      await operations.wish(id, 'RESUME', ana)
      await scene.until(async () => expect((await operations.get(id))?.progress.sent).toBeGreaterThan(progress.sent))
      await operations.wish(id, 'CANCEL', ana)
      const cancelled = await scene.reached(id, 'CANCELLED')
      await scene.until(() => expect(BigInt(scene.handled.length)).toBe(cancelled.progress.sent))
      expect(new Set(scene.handled).size).toBe(scene.handled.length)
    }))

  test('waits while an older operation runs on the same dead letters', () =>
    inScene(async (scene) => {
      await scene.bury(carriers)
      scene.fails = () => false
      const operations = await scene.operations()
      const first = await operations.create({ ...everything, rate: 1 }, ana)
      const second = await operations.create(everything, ana)
      await scene.until(async () =>
        expect((await operations.get(second.id))?.trouble?.message).toBe(`waits for ${first.id}`),
      )
      expect((await operations.get(second.id))?.progress.sent).toBe(0n)
      await scene.reached(first.id, 'DONE')
      expect((await scene.reached(second.id, 'DONE')).progress.sent).toBe(8n)
    }))

  test('fails when the binding is gone, with the reason', () =>
    inScene(async (scene) => {
      await scene.bury(['c1'])
      const operations = await scene.operations()
      const { id } = await operations.create(everything, ana, { dryRun: true })
      await scene.connector.admin.destroy('shipping', ana)
      await operations.wish(id, 'START', ana)
      expect((await scene.reached(id, 'FAILED')).trouble?.code).toBe('WAYBILL_BINDING_NOT_FOUND')
    }))
})

describe('other operations', () => {
  test('replay to a tier', () =>
    inScene(async (scene) => {
      await scene.bury(['c1'])
      scene.fails = () => false
      const operations = await scene.operations()
      const { id } = await operations.create({ type: 'REPLAY_TO_TIER', binding: 'shipping', tier: 1, filter: {} }, ana)
      await scene.reached(id, 'DONE')
      await scene.until(() => expect(scene.handled).toEqual(['c1']))
    }))

  test('replay an edited dead letter, whose value no audit log has', () =>
    inScene(async (scene) => {
      await scene.bury(['c1'])
      scene.fails = () => false
      const operations = await scene.operations()
      const at = (await scene.connector.admin.dltStats('shipping', ana)).oldest
      const position = { topic: 'orders.DLT', partition: at?.partition ?? 0, offset: at?.offset ?? 0n }
      const value = Buffer.from('secret')
      const { id } = await operations.create({ type: 'EDIT_REPLAY', binding: 'shipping', position, value }, ana)
      await scene.reached(id, 'DONE')
      await scene.until(() => expect(scene.handled).toEqual(['secret']))
      expect(
        JSON.stringify(scene.audit, (_, one: unknown) => (typeof one === 'bigint' ? String(one) : one)),
      ).not.toMatch(/secret|c2VjcmV0/)
    }))

  test('purge what their plan showed', () =>
    inScene(async (scene) => {
      await scene.bury(['c1', 'c2'])
      const operations = await scene.operations()
      const request = { type: 'PURGE', binding: 'shipping', olderThanMs: 0 } as const
      const { id, plan } = await operations.create(request, ana, { dryRun: true })
      expect(plan).toMatchObject({ eligible: '2', notReplayed: '2' })
      await scene.bury(['c3', 'c4', 'c5'])
      await operations.wish(id, 'START', ana)
      expect((await scene.reached(id, 'DONE')).progress).toMatchObject({ sent: 2n, mayBeRepeated: 0n })
      expect((await scene.connector.admin.dltStats('shipping', ana)).count).toBe(3)
    }))

  test('release keys', () =>
    inScene(
      async (scene) => {
        await scene.bury(['c1'])
        scene.fails = () => false
        await using producer = scene.client.producer('EVENT')
        await producer.send({ topic: 'orders', key: Buffer.from('c1'), value: Buffer.from('c1 again') })
        const operations = await scene.operations()
        const { id } = await operations.create({ type: 'RELEASE', binding: 'shipping', filter: {} }, ana)
        await scene.reached(id, 'DONE')
        await scene.until(() => expect(scene.handled).toEqual(['c1 again']))
      },
      { orderingMode: 'KEY', parallelism: 'KEY', keyOrder: { onDeadKey: 'BLOCK' } },
    ))

  test('S1-120 replay DEAD events of an outbox that died before', () =>
    inScene(async (scene) => {
      const rows = Array.from({ length: 7 }, (_, index) => ({
        seq: BigInt(index + 1),
        eventId: `e${index + 1}`,
        diedAt: index === 6 ? scene.runtime.clock.now() + 60_000 : 0,
      }))
      const dead = new Map(rows.map((row) => [row.eventId, row]))
      const take = async ({ eventIds }: { eventIds: readonly string[] }) =>
        eventIds.filter((id) => dead.delete(id)).length
      const deadEvents = {
        query: async ({ limit, after = 0n }: { limit: number; after?: bigint | undefined }) =>
          [...dead.values()].filter(({ seq }) => seq > after).slice(0, limit),
        replayAll: take,
        purge: take,
        count: async () => dead.size,
      }
      const operations = await scene.operations({ outboxes: { orders: { deadEvents } } })
      const { id, plan } = await operations.create({ type: 'OUTBOX_REPLAY', outbox: 'orders', rate: 2 }, ana)
      expect(plan).toEqual({ matched: '7' })
      expect((await scene.reached(id, 'DONE')).progress).toMatchObject({ scanned: 7n, sent: 6n })
      expect([...dead.keys()]).toEqual(['e7'])
      await expect(operations.create({ type: 'OUTBOX_PURGE', outbox: 'orders' }, ana)).rejects.toThrow('olderThanMs')
      await scene.runtime.timers.sleep(120_000)
      const purge = await operations.create({ type: 'OUTBOX_PURGE', outbox: 'orders', olderThanMs: 1_000 }, ana)
      expect((await scene.reached(purge.id, 'DONE')).progress.sent).toBe(1n)
    }))
})

describe('several processes', () => {
  test('one continues what another one leaves when it stops, and nothing is repeated', () =>
    inScene(async (scene) => {
      await scene.bury(carriers)
      scene.fails = () => false
      const first = await scene.operations()
      const { id } = await first.create({ ...everything, rate: 1 }, ana)
      await scene.until(async () => expect((await first.get(id))?.progress.sent).toBe(2n))
      await first.stop()
      const left = await scene.store.get(id)
      expect([left?.state, left?.runner]).toEqual(['RUNNING', undefined])
      await scene.operations()
      const done = await scene.reached(id, 'DONE')
      expect([done.progress.sent, done.progress.mayBeRepeated, done.takeovers]).toEqual([8n, 0n, 0])
      await scene.until(() => expect(scene.handled.toSorted()).toEqual(carriers))
    }))

  test.each(['operation.intended', 'operation.sent'])(
    'one takes over when another one disappeared at %s, and says what may be repeated',
    (failpoint) =>
      inScene(async (scene) => {
        await scene.bury(carriers)
        scene.fails = () => false
        let isDead = false
        const never = new Promise<never>(() => {})
        const mortal = Object.fromEntries(
          (
            ['take', 'renew', 'intend', 'settle', 'finish', 'release', 'setTrouble', 'get', 'list', 'tally'] as const
          ).map((name) => [
            name,
            (...given: never[]) => (isDead ? never : (scene.store[name] as (...of: never[]) => unknown)(...given)),
          ]),
        ) as unknown as OperationStore
        const first = await scene.operations({
          store: Object.assign(Object.create(scene.store) as OperationStore, mortal, {
            create: (given: never) => scene.store.create(given),
          }),
          runtime: {
            ...scene.runtime,
            failpoint: (name) => {
              if (name !== failpoint) return undefined
              isDead = true
              return never
            },
          },
        })
        const { id } = await first.create({ ...everything, rate: 3 }, ana)
        await scene.until(() => expect(isDead).toBe(true))
        await scene.operations({ instance: 'shop-9' })
        const done = await scene.reached(id, 'DONE')
        expect([done.takeovers, done.progress.sent, done.progress.mayBeRepeated]).toEqual([1, 8n, 3n])
        expect((await scene.store.items(id, 'MAY_REPEAT', { limit: 10 })).items).toHaveLength(3)
        const sentTwice = failpoint === 'operation.sent' ? 3 : 0
        await scene.until(() => expect(scene.handled).toHaveLength(8 + sentTwice))
        expect(new Set(scene.handled).size).toBe(8)
      }),
  )

  test('an operation that its instances do not survive fails', () =>
    inScene(async (scene) => {
      await scene.bury(['c1'])
      const operations = await scene.operations()
      const { id } = await operations.create(everything, ana, { dryRun: true })
      await operations.stop()
      await scene.store.wish(id, 'START')
      for (let times = 0; times < 10; times++) {
        const taken = await scene.store.take('mortal', ['REPLAY'], 1)
        const progress = { ...taken?.operation.progress, cursor: { idleTakeovers: times } }
        if (taken !== undefined) await scene.store.settle(taken.lease, progress as never, [])
        await scene.runtime.timers.sleep(10)
      }
      await scene.operations()
      expect((await scene.reached(id, 'FAILED')).trouble?.code).toBe('WAYBILL_OPERATION_STALLED')
    }))
})

describe('requests', () => {
  test('are refused for an operator without a permission, and audited for others', () =>
    inScene(async (scene) => {
      await scene.bury(['c1'])
      const operations = await scene.operations({
        administration: {
          auditLog: { write: (entry) => void scene.audit.push(entry) },
          permits: ({ by }) => by === 'ana',
        },
      })
      await expect(operations.create(everything, { by: 'eve' })).rejects.toMatchObject({
        code: 'WAYBILL_OPERATION_FORBIDDEN',
      })
      const { id } = await operations.create(everything, ana)
      await expect(operations.wish(id, 'CANCEL', { by: 'eve' })).rejects.toMatchObject({
        code: 'WAYBILL_OPERATION_FORBIDDEN',
      })
      await scene.reached(id, 'DONE')
      const told = scene.audit.map(({ by, operation, outcome }) => `${by} ${operation} ${outcome}`)
      expect(told.filter((line) => line.startsWith('eve'))).toEqual([
        'eve CREATE_OPERATION REFUSED',
        'eve CANCEL_OPERATION REFUSED',
      ])
      for (const line of ['CREATE_OPERATION ASKED', 'CREATE_OPERATION DONE', 'REPLAY ASKED', 'REPLAY DONE'])
        expect(told.filter((one) => one === `ana ${line}`)).toHaveLength(1)
      expect(scene.audit.find(({ operation }) => operation === 'REPLAY')).toMatchObject({
        reason: 'INC-311',
        request: { operation: id },
      })
    }))

  test('of the program itself run as the program', () =>
    inScene(async (scene) => {
      await scene.bury(['c1'])
      const operations = await scene.operations({ administration: {} })
      const { id } = await operations.create(everything, applicationOperator('nightly'))
      expect((await scene.reached(id, 'DONE')).by).toBe('application')
    }))

  test('by failure group replay the dead letters of this cause alone', () =>
    inScene(async (scene) => {
      await scene.bury(['c1', 's1', 'c2'])
      scene.fails = () => false
      const groups = new Map<string, string>()
      for await (const letter of scene.connector.admin.deadLetters('shipping', ana))
        groups.set(String(letter.record.value), standardFingerprint(letter))
      expect(groups.get('c1')).toBe(groups.get('c2'))
      const operations = await scene.operations()
      const { id } = await operations.create({ ...everything, filter: { group: groups.get('c1') } }, ana)
      await scene.reached(id, 'DONE')
      await scene.until(() => expect(scene.handled.toSorted()).toEqual(['c1', 'c2']))
    }))

  test('leave out dead letters that are not OPEN', () =>
    inScene(async (scene) => {
      await scene.bury(['c1', 'c2', 'c3'])
      scene.fails = () => false
      const deadLetters = createMemoryDeadLetterIndex({ runtime: scene.runtime })
      const operations = await scene.operations({ deadLetters })
      const first = await operations.create({ ...everything, limit: 2 }, ana)
      expect((await scene.reached(first.id, 'DONE')).progress.sent).toBe(2n)
      const all = await operations.create(everything, ana)
      expect((await scene.reached(all.id, 'DONE')).progress).toMatchObject({ sent: 1n, refused: { NOT_OPEN: 2n } })
      await scene.until(async () => {
        const { items } = await deadLetters.query({}, { limit: 10 })
        expect(items.map(({ state }) => state)).toEqual(['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED'])
        expect(new Set(items.map(({ operation }) => operation))).toEqual(new Set([first.id, all.id]))
      })
    }))

  test('count in a plan what a run would take: dead letters that are OPEN, or that the index does not have yet', () =>
    inScene(async (scene) => {
      await scene.bury(['c1', 'c2', 'c3'])
      scene.fails = () => false
      const deadLetters = createMemoryDeadLetterIndex({ runtime: scene.runtime })
      const operations = await scene.operations({ deadLetters })
      const before = await operations.create(everything, ana, { dryRun: true })
      expect(before.plan).toMatchObject({ scanned: '3', matched: '3', eligible: '3', refused: {} })
      const first = await operations.create({ ...everything, limit: 2 }, ana)
      expect((await scene.reached(first.id, 'DONE')).progress.sent).toBe(2n)
      const planned = await operations.create(everything, ana, { dryRun: true })
      expect(planned.plan).toMatchObject({ matched: '3', eligible: '1', refused: { NOT_OPEN: '2' }, keys: '1' })
      expect((planned.plan as { readonly sample: readonly string[] }).sample).toHaveLength(1)
      await operations.wish(planned.id, 'START', ana)
      expect((await scene.reached(planned.id, 'DONE')).progress).toMatchObject({ sent: 1n, refused: { NOT_OPEN: 2n } })
    }))

  test('mark dead letters whose copies failed again', () =>
    inScene(async (scene) => {
      await scene.bury(['c1'])
      const deadLetters = createMemoryDeadLetterIndex({ runtime: scene.runtime })
      const operations = await scene.operations({ deadLetters })
      const { id } = await operations.create(everything, ana)
      await scene.until(async () => {
        const { items } = await deadLetters.query({ operation: id }, { limit: 10 })
        expect(items.map(({ state }) => state)).toEqual(['FAILED_AGAIN'])
      })
    }))

  test('with one idempotency key are one operation', () =>
    inScene(async (scene) => {
      await scene.bury(['c1'])
      const operations = await scene.operations()
      const first = await operations.create(everything, ana, { idempotencyKey: 'k-1' })
      const again = await operations.create(everything, ana, { idempotencyKey: 'k-1' })
      expect(again.id).toBe(first.id)
      expect((await scene.reached(first.id, 'DONE')).progress.sent).toBe(1n)
    }))

  test.each([
    ['without a selection', { type: 'REPLAY', binding: 'shipping' }, 'filter'],
    ['with an unknown member', { ...everything, filter: { excepton: 'x' } }, 'exception'],
    ['with a tier that does not exist', { type: 'REPLAY_TO_TIER', binding: 'shipping', tier: 9, filter: {} }, 'Tier 9'],
    ['for a binding that does not exist', { ...everything, binding: 'billing' }, 'billing'],
    ['of an unknown type', { ...everything, type: 'MEND' }, 'MEND'],
  ])('are refused %s', (_, request, text) =>
    inScene(async (scene) => {
      await scene.bury(['c1'])
      const operations = await scene.operations()
      await expect(operations.create(request as never, ana)).rejects.toThrow(text)
      expect((await operations.list({}, { limit: 5 })).items).toEqual([])
    }),
  )
})
