import { readStoredDeadLetter } from '@waybill/connector/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { causeOf, fingerprintOf, standardFingerprint } from '../../src/dead-letters/fingerprint.ts'
import { letterOf, recordOf } from './letter-fixture.ts'

describe('a fingerprint', () => {
  test('is of the class, the message, the frame and the event type', () => {
    const letter = letterOf()
    expect(causeOf(letter)).toEqual({
      exception: 'HttpError',
      message: '# from shipping-api',
      frame: 'src/shipping.ts',
      eventType: 'order.placed',
    })
    // The rule is stored with an index: another result needs another version of it.
    expect(standardFingerprint(letter)).toBe('72a43bfb8d90')
  })

  test('does not depend on the record and the numbers in its message', () => {
    fc.assert(
      fc.property(fc.nat(), fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), fc.string(), (status, offset, key) => {
        const message = { 'x-eventbus-last-exception-message': `${status} from shipping-api` }
        const letter = letterOf(message, { offset, key: Buffer.from(key) })
        expect(standardFingerprint(letter)).toBe(standardFingerprint(letterOf()))
      }),
    )
  })

  test.each([
    { 'x-eventbus-last-exception-class': 'ZodError' },
    { 'x-eventbus-last-exception-message': 'no route' },
    { 'x-eventbus-last-exception-stacktrace': 'HttpError\n    at ship (/srv/src/billing.ts:3:1)' },
    { eventType: 'order.paid' },
  ])('is another one with %j', (headers) => {
    expect(standardFingerprint(letterOf(headers))).not.toBe(standardFingerprint(letterOf()))
  })

  test('keeps its parts apart', () => {
    const parts = fc.record({
      exception: fc.string(),
      message: fc.string(),
      frame: fc.string(),
      eventType: fc.string(),
    })
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        const isSame = JSON.stringify(one) === JSON.stringify(other)
        expect(fingerprintOf(one) === fingerprintOf(other)).toBe(isSame)
      }),
    )
    const cause = { exception: 'E', message: 'm', frame: undefined, eventType: undefined }
    expect(fingerprintOf(cause)).not.toBe(fingerprintOf({ ...cause, frame: '' }))
  })
})

describe('the cause of a foreign dead letter', () => {
  test('of Spring has a method of the application as its frame', () => {
    const letter = readStoredDeadLetter(
      recordOf({
        'kafka_dlt-original-topic': 'orders',
        'kafka_dlt-exception-cause-fqcn': 'java.lang.IllegalStateException',
        'kafka_dlt-exception-message': 'no stock for 17',
        'kafka_dlt-exception-stacktrace':
          'E: x\n\tat org.springframework.kafka.A.b(A.java:1)\n\tat com.acme.Stock.take(Stock.java:9)\n',
      }),
    )
    expect(causeOf(letter)).toEqual({
      exception: 'java.lang.IllegalStateException',
      message: 'no stock for #',
      frame: 'com.acme.Stock.take',
      eventType: undefined,
    })
  })

  test('of Kafka Connect has none, if only libraries were involved', () => {
    const letter = readStoredDeadLetter(
      recordOf({
        '__connect.errors.topic': 'orders',
        '__connect.errors.exception.class.name': 'DataException',
        '__connect.errors.exception.message': 'Unknown magic byte!',
        '__connect.errors.exception.stacktrace': 'E\n\tat io.confluent.connect.avro.AvroConverter.to(A.java:1)',
      }),
    )
    expect(causeOf(letter)).toMatchObject({ exception: 'DataException', frame: undefined })
  })

  test('of SmallRye is the class and the message', () => {
    const letter = readStoredDeadLetter(
      recordOf({
        'dead-letter-topic': 'prices',
        'dead-letter-exception-class-name': 'java.lang.RuntimeException',
        'dead-letter-reason': 'boom 7',
      }),
    )
    expect(causeOf(letter)).toMatchObject({ exception: 'java.lang.RuntimeException', message: 'boom #' })
  })
})
