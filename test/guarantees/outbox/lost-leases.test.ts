import { runtimeWith } from '@waybill/core'
import { systemTimers } from '@waybill/core/internal'
import { Outbox } from '@waybill/outbox'
import { createOutboxStore } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { createFaultProxy, createSignal, eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { Book } from './support/book.ts'
import { type OpenDatabase, openDatabase, targetOf, throughProxy } from './support/open-database.ts'
import { guaranteeEvents } from './support/outbox-task.ts'

const timeoutMs = 1_500
const patient = { deadlineMs: 30_000, everyMs: 20 }
const modes = ['multiNode', 'keyed'] as const

interface SlowNode extends AsyncDisposable {
  readonly outbox: ReturnType<typeof outboxOf>
  /** Deliveries in the order they started. */
  readonly began: string[]
  /** Completes the running listeners. */
  readonly release: () => void
  /** Deliveries whose signal reported a lost lease. */
  readonly canceled: string[]
  readonly counters: Record<string, number>
}

function outboxOf(
  mode: (typeof modes)[number],
  { database }: OpenDatabase,
  table: string,
  listener: (event: { readonly eventId: string }, context: { readonly signal: AbortSignal }) => Promise<void>,
  counters: Record<string, number>,
) {
  const options = {
    events: guaranteeEvents('nowhere'),
    database,
    store: createOutboxStore(database, { table }),
    listeners: { listenerFor: () => listener },
    claimLocking: { timeoutMs },
    intervalMs: 50,
    purge: false,
    runtime: runtimeWith({
      metrics: {
        counter: (name, _labels, value) => {
          counters[name] = (counters[name] ?? 0) + value
        },
        gauge: () => {},
        histogram: () => {},
      },
    }),
  } as const
  return mode === 'keyed' ? Outbox.keyed(options) : Outbox.multiNode(options)
}

/** Creates a node whose listener completes only when it is released. */
function slowNode(mode: (typeof modes)[number], open: OpenDatabase, table: string): SlowNode {
  const released = createSignal('the listener is released')
  const [began, canceled]: [string[], string[]] = [[], []]
  const counters: Record<string, number> = {}
  const outbox = outboxOf(
    mode,
    open,
    table,
    async ({ eventId }, { signal }) => {
      began.push(eventId)
      signal.addEventListener('abort', () => void canceled.push(eventId), { once: true })
      await released.wait({ deadlineMs: 60_000 })
    },
    counters,
  )
  return {
    outbox,
    began,
    canceled,
    counters,
    release: () => released.send(),
    [Symbol.asyncDispose]: () => outbox.stop(),
  }
}

/** Writes one event, and records it in the same transaction. */
async function write({ database }: OpenDatabase, book: Book, { outbox }: SlowNode): Promise<string> {
  return database.transaction(async (tx) => {
    const eventId = String(await outbox.write(tx, 'value.noted', { value: 'slow', key: 'key' }))
    await book.add(tx, [{ eventId, value: 'slow', key: 'key', number: 1 }])
    return eventId
  })
}

describeWith('postgres')('a listener that takes longer than a lease', ({ postgres }) => {
  const address = { dialect: 'postgres', url: postgres.url } as const

  test.concurrent.for(modes)(
    'keeps its row while its node renews, however many others query: %s',
    { timeout: 60_000 },
    async (mode) => {
      await using open = openDatabase(address)
      const table = `renewed_${mode.toLowerCase()}`
      const book = new Book(open, table)
      await book.create()
      await using node = slowNode(mode, open, table)
      await using other = slowNode(mode, open, table)
      await node.outbox.start()
      const eventId = await write(open, book, node)
      await eventually(() => expect(node.began).toEqual([eventId]), patient)
      await other.outbox.start()
      await systemTimers.sleep(3 * timeoutMs)
      node.release()
      await eventually(async () => expect((await book.outbox()).get(eventId)?.status).toBe('DONE'), patient)
      expect({ began: [node.began, other.began], canceled: node.canceled }).toEqual({
        began: [[eventId], []],
        canceled: [],
      })
      expect(node.counters['outbox.finish.fenced'] ?? 0).toBe(0)
    },
  )

  test.concurrent.for(modes)(
    'is canceled when its node cannot renew; another node delivers, and the late finish is refused: %s',
    { timeout: 60_000 },
    async (mode) => {
      await using proxy = createFaultProxy({ target: targetOf(address) })
      await proxy.start()
      await using direct = openDatabase(address)
      await using cutOff = openDatabase(throughProxy(address, proxy))
      const table = `cut_off_${mode.toLowerCase()}`
      const book = new Book(direct, table)
      await book.create()
      await using node = slowNode(mode, cutOff, table)
      await using other = slowNode(mode, direct, table)
      await node.outbox.start()
      const eventId = await write(cutOff, new Book(cutOff, table), node)
      await eventually(() => expect(node.began).toEqual([eventId]), patient)
      await other.outbox.start()
      proxy.hold()
      await eventually(
        () =>
          expect({ canceled: node.canceled, other: other.began }).toEqual({ canceled: [eventId], other: [eventId] }),
        patient,
      )
      other.release()
      await eventually(async () => expect((await book.outbox()).get(eventId)?.status).toBe('DONE'), patient)
      const finished = await book.outbox()
      proxy.cut()
      proxy.heal()
      // A finish that is lost with a connection and repeated is not counted as fenced, because its outcome was unknown.
      await eventually(() => cutOff.query('select 1 as one'), patient)
      node.release()
      await eventually(() => expect(node.counters['outbox.finish.fenced']).toBe(1), patient)
      expect(await book.outbox()).toEqual(finished)
      expect(other.counters['outbox.finish.fenced'] ?? 0).toBe(0)
      expect([node.began, other.began]).toEqual([[eventId], [eventId]])
    },
  )
})
