import { createMemoryLogger, runtimeWith } from '@waybill/core'
import { createSignal, eventually } from '@waybill/testkit'
import { describe, expect, test } from 'vitest'
import type { DeadLetterAlertHandler, DeadLetterRecord } from '../../src/api/dead-letter-types.ts'
import { createDeadLetterAlert } from '../../src/records/dead-letter-alert.ts'
import { deadLetterRecord } from '../../src/records/dead-letter-record.ts'
import { deadLetterTo, fetched, hopOf, textRecord } from './fetched.ts'

const stored = deadLetterRecord(hopOf(fetched(textRecord('orders')), 'SOURCE'), 'MANUAL', deadLetterTo('HEADERS'))

function alertTo(onDeadLetter: DeadLetterAlertHandler['onDeadLetter'], strategy: 'ALERT_AND_STORE' | 'STORE_ONLY') {
  const logger = createMemoryLogger()
  const deadLetter = { ...deadLetterTo('HEADERS'), strategy, alertHandler: { onDeadLetter } }
  return { logger, alert: createDeadLetterAlert(deadLetter, runtimeWith({ logger })) }
}

describe('the alert of a dead letter', () => {
  test('receives the stored dead letter', async () => {
    const observed = createSignal<DeadLetterRecord>('an alert')
    alertTo(observed.send, 'ALERT_AND_STORE').alert(stored)
    expect(await observed.wait()).toMatchObject({ originalTopic: 'orders', dltReason: 'MANUAL', value: stored.value })
  })

  test('is not called with STORE_ONLY', () => {
    const observed = createSignal<DeadLetterRecord>('an alert')
    alertTo(observed.send, 'STORE_ONLY').alert(stored)
    expect(observed.values).toEqual([])
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('no pager')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no pager'))],
  ])('that %s is logged and has no other effect', async (_, onDeadLetter) => {
    const { alert, logger } = alertTo(onDeadLetter, 'ALERT_AND_STORE')
    alert(stored)
    const line = { level: 'ERROR', fields: { reason: 'Error: no pager', topic: 'orders.DLT' } }
    await eventually(() => expect(logger.lines).toMatchObject([line]))
  })

  test('that does not end leaves no more than a hundred behind', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let calls = 0
    const { alert, logger } = alertTo(() => {
      calls++
      return promise
    }, 'ALERT_AND_STORE')
    for (let index = 0; index < 150; index++) alert(stored)
    expect([calls, logger.lines.length]).toEqual([100, 50])
    resolve()
    await eventually(() => {
      alert(stored)
      expect(calls).toBeGreaterThan(100)
    })
  })
})
