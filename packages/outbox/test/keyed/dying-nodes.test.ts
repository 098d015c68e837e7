import { createEnvelope, type Database, type EventEnvelope, type Service } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { createVirtualRuntime, type VirtualRuntime } from '@waybill/sim'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MemoryOutbox, type MemoryTx } from '../support/memory-outbox.ts'
import { events } from '../support/outbox-harness.ts'

const never = new Promise<never>(() => {})
const keys = ['a', 'b', 'c', 'd', 'e', 'f']
const perKey = 20
const timeoutMs = 3_000

/** A node that can be killed: from then on nothing of it reaches the table or the outside, and nothing reaches it. */
class MortalNode {
  isDead = false
  readonly outbox: Service

  constructor(runtime: VirtualRuntime, table: MemoryOutbox, handle: (event: EventEnvelope) => void) {
    const alive = async <T>(value: T): Promise<T> => (this.isDead ? never : value)
    const database: Database<MemoryTx> = {
      transaction: (work) => table.transaction(work),
      enlist: (tx) => table.enlist(tx),
      ambient: table.ambient,
      connection: async (use) => {
        await alive(undefined)
        return alive(await table.connection(use))
      },
    }
    const listener = async (event: EventEnvelope): Promise<void> => {
      await runtime.timers.sleep(40 * runtime.random())
      await alive(undefined)
      if (runtime.random() < 0.1) throw new Error('not now')
      handle(event)
    }
    this.outbox = Outbox.keyed({
      events,
      database,
      store: table.store,
      listeners: { listenerFor: () => listener },
      runtime,
      purge: false,
      maxAttempts: 1_000,
      claimLocking: { timeoutMs },
    })
  }
}

test('I7 nodes that die in the middle leave every key in order, and lose nothing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 2 ** 30 }), async (seed) => {
      const runtime = createVirtualRuntime(seed)
      const table = new MemoryOutbox(runtime)
      table.latencyMs = 5
      const reached = new Map(keys.map((key) => [key, -1]))
      const handle = ({ aggregateId, eventType }: EventEnvelope): void => {
        const before = reached.get(aggregateId as string) as number
        // A repeat may come again after a kill; what was never handled may not be overtaken.
        expect(Number(eventType)).toBeLessThanOrEqual(before + 1)
        reached.set(aggregateId as string, Math.max(before, Number(eventType)))
      }
      const start = async (): Promise<MortalNode> => {
        const node = new MortalNode(runtime, table, handle)
        await runtime.run(() => node.outbox.start())
        return node
      }
      const nodes = [await start(), await start()]
      for (let index = 0; index < perKey; index++) {
        for (const aggregateId of keys)
          table.add(
            createEnvelope({ eventType: String(index), aggregateType: 'order', aggregateId, payloadJson: '{}' }),
          )
        await runtime.advance(300 * runtime.random())
        if (runtime.random() > 0.3) continue
        const victim = Math.floor(2 * runtime.random())
        const killed = nodes[victim] as MortalNode
        killed.isDead = true
        nodes[victim] = await start()
      }
      await runtime.advance(60_000)
      expect([...reached.values()]).toEqual(keys.map(() => perKey - 1))
      expect(table.withStatus('DONE')).toHaveLength(keys.length * perKey)
      await runtime.run(() => Promise.all(nodes.map((node) => node.outbox.stop())))
    }),
    { numRuns: 15 },
  )
})
