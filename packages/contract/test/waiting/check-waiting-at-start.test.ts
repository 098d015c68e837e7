import {
  checkWaitingAtStart,
  type WaitingCheck,
  type WaitingReading,
  WaitingRecordsError,
  type WaitingSource,
} from '@waybill/contract/waiting'
import { createMemoryLogger, encodeEvent } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { careless, released, stepped } from './shop-catalogs.ts'

function sourceOf(reading: Partial<WaitingReading> = {}): WaitingSource {
  return {
    async read(_, visit) {
      const events = released('orders')
      const wire = events.wireFormat.encode(await encodeEvent(events, 'OrderPlaced', { id: 'o-1' }))
      await visit({ place: 'orders.retry-1-0@7', wire, bytes: 10, wasUnreadable: false })
      return [
        { name: 'topic orders.retry-1', read: 1, bytes: 10, unread: 0, withoutContent: 0, endedBy: null, ...reading },
      ]
    },
  }
}

const broken: WaitingSource = { read: () => Promise.reject(new Error('no broker')) }

function start(waitingCheck: WaitingCheck, events: ReturnType<typeof careless>, source: WaitingSource) {
  const logger = createMemoryLogger()
  return { logger, report: checkWaitingAtStart({ waitingCheck, events, sources: [source], logger }) }
}

describe('a check of waiting records at start', () => {
  test('reads nothing with OFF', async () => {
    expect(await start('OFF', careless('orders'), broken).report).toBeNull()
  })

  test('passes without a line in the log if the catalog reads them', async () => {
    const { logger, report } = start('FAIL', stepped('orders'), sourceOf())
    expect(await report).toMatchObject({ passes: true })
    expect(logger.lines).toEqual([])
  })

  test('logs with WARN and refuses with FAIL what the catalog cannot read', async () => {
    const warned = start('WARN', careless('orders'), sourceOf())
    expect(await warned.report).toMatchObject({ passes: false })
    expect(warned.logger.lines).toMatchObject([
      {
        text: 'Waiting records unreadable',
        fields: { event: 'OrderPlaced', version: 1, failed: 1, place: 'orders.retry-1-0@7' },
      },
    ])
    const failed = start('FAIL', careless('orders'), sourceOf()).report
    await expect(failed).rejects.toThrow(WaitingRecordsError)
    await expect(failed).rejects.toMatchObject({
      message: expect.stringContaining('1 of OrderPlaced version 1, first orders.retry-1-0@7'),
      report: { passes: false },
    })
  })

  test('logs what was not read, and does not fail because of it', async () => {
    const { logger, report } = start('FAIL', stepped('orders'), sourceOf({ unread: 40, endedBy: 'maxRecords' }))
    expect(await report).toMatchObject({ passes: true, isComplete: false })
    expect(logger.lines).toMatchObject([
      { text: 'Waiting records not all checked', fields: { unread: 40, endedBy: 'maxRecords' } },
    ])
  })

  test('refuses with FAIL if the places cannot be read, and logs it with WARN', async () => {
    await expect(start('FAIL', stepped('orders'), broken).report).rejects.toMatchObject({ report: null })
    const { logger, report } = start('WARN', stepped('orders'), broken)
    expect(await report).toBeNull()
    expect(logger.lines).toMatchObject([{ text: 'Waiting records not checked', fields: { error: 'Error: no broker' } }])
  })
})
