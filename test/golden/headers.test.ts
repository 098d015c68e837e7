/** Names of headers are a wire format. Stored records carry them for years, and other languages use them too. */

import { readFileSync } from 'node:fs'
import { replayHeader } from '@waybill/core'
import * as core from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'

const known = JSON.parse(readFileSync(new URL('headers.json', import.meta.url), 'utf8')) as Record<string, string[]>

const groups: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  event: core.eventHeader,
  trace: core.traceHeader,
  attemptTrace: core.attemptTraceHeader,
  cloudEvents: core.cloudEventsHeader,
  original: core.originalHeader,
  retry: core.retryHeader,
  deadLetter: core.deadLetterHeader,
  replay: replayHeader,
  waiting: core.waitingHeader,
  delivery: core.deliveryHeader,
  others: {
    contentType: core.contentTypeHeader,
    processingAttempts: core.processingAttemptsHeader,
    tierException: core.tierExceptionHeader(0),
    tierExhaustedAt: core.tierExhaustedAtHeader(0),
    tierAttempts: core.tierAttemptsHeader(0),
  },
}

describe('header names', () => {
  test.each(Object.keys(groups))('of the family %s are those that other versions know, and no others', (family) => {
    expect(Object.values(groups[family] ?? {}).toSorted()).toEqual(known[family])
  })

  test('of every family are kept', () => {
    expect(Object.keys(groups).toSorted()).toEqual(Object.keys(known).toSorted())
  })
})
