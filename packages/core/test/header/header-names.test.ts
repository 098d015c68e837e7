import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { replayHeader } from '@waybill/core'
import {
  attemptTraceHeader,
  cloudEventsHeader,
  cloudEventsPrefix,
  contentTypeHeader,
  deadLetterHeader,
  deliveryHeader,
  enginePrefix,
  eventHeader,
  isTierTrailHeader,
  originalHeader,
  processingAttemptsHeader,
  retryHeader,
  tierAttemptsHeader,
  tierExceptionHeader,
  tierExhaustedAtHeader,
  traceHeader,
  waitingHeader,
} from '@waybill/core/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const groups = {
  eventHeader,
  traceHeader,
  attemptTraceHeader,
  cloudEventsHeader,
  originalHeader,
  retryHeader,
  deadLetterHeader,
  replayHeader,
  waitingHeader,
  deliveryHeader,
}

describe('header names', () => {
  // Repeated on purpose: records on topics carry these names, so a rename has to break something.
  test.each<[keyof typeof groups, string[]]>([
    [
      'eventHeader',
      [
        'id',
        'eventType',
        'eventVersion',
        'occurredAt',
        'aggregateType',
        'aggregateVersion',
        'tenantId',
        'payloadEncoding',
      ],
    ],
    ['traceHeader', ['traceparent', 'tracestate', 'baggage']],
    ['attemptTraceHeader', ['x-eventbus-attempt-traceparent']],
    [
      'cloudEventsHeader',
      [
        'ce_specversion',
        'ce_id',
        'ce_source',
        'ce_type',
        'ce_subject',
        'ce_time',
        'ce_dataschema',
        'ce_partitionkey',
        'ce_traceparent',
        'ce_tracestate',
        'ce_eventversion',
        'ce_aggregatetype',
        'ce_aggregateversion',
        'ce_tenantid',
      ],
    ],
    [
      'originalHeader',
      [
        'x-eventbus-original-topic',
        'x-eventbus-original-partition',
        'x-eventbus-original-offset',
        'x-eventbus-original-timestamp',
      ],
    ],
    [
      'retryHeader',
      [
        'x-eventbus-retry-tier',
        'x-eventbus-retry-attempt',
        'x-eventbus-retry-timestamp',
        'x-eventbus-total-attempts',
        'x-eventbus-first-failure-timestamp',
      ],
    ],
    [
      'deadLetterHeader',
      [
        'x-eventbus-dlt-reason',
        'x-eventbus-dlt-timestamp',
        'x-eventbus-dlt-format',
        'x-eventbus-dlt-parked',
        'x-eventbus-dlt-batch-last-offset',
        'x-eventbus-dlt-batch-bytes',
        'x-eventbus-last-exception-class',
        'x-eventbus-last-exception-message',
        'x-eventbus-last-exception-stacktrace',
        'x-eventbus-key-deserializer-exception',
        'x-eventbus-value-deserializer-exception',
      ],
    ],
    [
      'replayHeader',
      ['x-eventbus-consumer-group', 'x-eventbus-replay-count', 'x-eventbus-replay-operation', 'x-eventbus-edited-by'],
    ],
    ['waitingHeader', ['x-eventbus-waiting-kind', 'x-eventbus-waiting-due', 'x-eventbus-waiting-epoch']],
    ['deliveryHeader', ['x-eventbus-binding-name', 'x-eventbus-received-timestamp', 'x-eventbus-consumer-instance']],
  ])('of %s are those on the wire', (group, names) => {
    expect(Object.values(groups[group])).toEqual(names)
  })

  test('without a group are those on the wire', () => {
    expect([contentTypeHeader, processingAttemptsHeader, enginePrefix, cloudEventsPrefix]).toEqual([
      'content-type',
      'x-processing-attempts',
      'x-eventbus-',
      'ce_',
    ])
  })

  test('are all different', () => {
    const names = Object.values(groups).flatMap((group) => Object.values(group))
    expect(new Set(names).size).toBe(names.length)
  })

  test('are spelled in no other source file', () => {
    const root = fileURLToPath(new URL('../../../..', import.meta.url))
    const sources = globSync('packages/*/src/**/*.ts', { cwd: root })
    const spelling = sources.filter((file) =>
      /['"`](x-eventbus-|x-processing-|ce_)/.test(readFileSync(`${root}/${file}`, 'utf8')),
    )
    expect(spelling).toEqual(['packages/core/src/header/header-names.ts'])
  })
})

describe('the trail of a tier', () => {
  test('is named after the tier, from tier 0 on', () => {
    expect(tierExceptionHeader(0)).toBe('x-eventbus-tier0-exception')
    expect(tierExhaustedAtHeader(0)).toBe('x-eventbus-tier0-exhausted-at')
    expect(tierAttemptsHeader(0)).toBe('x-eventbus-tier0-attempts')
    expect(tierExceptionHeader(12)).toBe('x-eventbus-tier12-exception')
    expect(tierExhaustedAtHeader(12)).toBe('x-eventbus-tier12-exhausted-at')
  })

  test('is recognised for every tier', () => {
    fc.assert(
      fc.property(fc.nat(), (tier) => {
        const names = [tierExceptionHeader(tier), tierExhaustedAtHeader(tier), tierAttemptsHeader(tier)]
        expect(names.every(isTierTrailHeader)).toBe(true)
      }),
    )
  })

  test.each([
    'x-eventbus-tier-exception',
    'x-eventbus-tier-1-exception',
    'x-eventbus-tier1-exceptions',
    'a-x-eventbus-tier1-exception',
    'x-eventbus-tier1-exhausted-at\n',
    'x-eventbus-retry-tier',
  ])('is not seen in %j', (name) => {
    expect(isTierTrailHeader(name)).toBe(false)
  })
})
