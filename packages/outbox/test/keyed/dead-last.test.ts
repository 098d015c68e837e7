import { createEnvelope, type EventEnvelope, NonRetryableError } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { createVirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import { DeadLast } from '../../src/keyed/dead-last.ts'
import { MemoryOutbox } from '../support/memory-outbox.ts'
import { events } from '../support/outbox-harness.ts'

function eventOf(eventType: string): EventEnvelope {
  return createEnvelope({ eventType, aggregateId: 'order-1', payloadJson: '{}' })
}

function writing() {
  const written: string[] = []
  const deadLast = new DeadLast()
  const write = (key: string, name: string, isDead = false): void =>
    deadLast.write(key, isDead, () => void written.push(name))
  return { written, deadLast, write }
}

test('a dead row is written when all before it of its key is confirmed, and others at once', () => {
  const { written, deadLast, write } = writing()
  write('a', 'a-1')
  write('a', 'a-2')
  write('a', 'a-dead', true)
  write('b', 'b-dead', true)
  expect(written).toEqual(['a-1', 'a-2', 'b-dead'])
  deadLast.confirmed('a')
  expect(written).not.toContain('a-dead')
  deadLast.confirmed('a')
  expect(written).toContain('a-dead')
})

test('what comes after a dead row was confirmed is written at once', () => {
  const { written, deadLast, write } = writing()
  write('a', 'dead', true)
  deadLast.confirmed('a')
  write('a', 'replayed', true)
  expect(written).toEqual(['dead', 'replayed'])
})

test('with BLOCK no dead row is in the table before those that were delivered before it are finished', async () => {
  const runtime = createVirtualRuntime(1)
  const table = new MemoryOutbox(runtime)
  const answer = Promise.withResolvers<void>()
  table.before = (call) => (call === 'markDone' ? answer.promise : undefined)
  const outbox = Outbox.keyed({
    events,
    database: table,
    store: table.store,
    runtime,
    purge: false,
    onDeadKey: 'BLOCK',
    listeners: {
      listenerFor:
        () =>
        async ({ eventType }) => {
          if (eventType === 'poison') throw new NonRetryableError('never')
        },
    },
  })
  table.add(eventOf('first'), eventOf('poison'))
  await runtime.run(async () => {
    await outbox.start()
    await runtime.timers.sleep(2_000)
    expect(table.rows.map(({ status }) => status)).toEqual(['NEW', 'NEW'])
    answer.resolve()
    await runtime.timers.sleep(2_000)
    expect(table.rows.map(({ status }) => status)).toEqual(['DONE', 'DEAD'])
    await outbox.stop()
  })
})
