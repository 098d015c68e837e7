import { CircuitOpenError, NonRetryableError, UnavailableError } from '@waybill/core'
import { expect, test } from 'vitest'
import { unavailableIn } from '../../src/destination/unavailable.ts'

const away = new UnavailableError('The broker does not respond.', { destination: 'orders-3' })

test.each([
  ['an UnavailableError', away, 'orders-3'],
  ['one of another copy of the package', { code: 'WAYBILL_UNAVAILABLE', destination: 'orders-3' }, 'orders-3'],
  ['an error caused by one', new Error('Publishing failed.', { cause: away }), 'orders-3'],
  ['a breaker that is open', new CircuitOpenError('crm', 'OPEN'), undefined],
  ['one with a destination that is no text', { code: 'WAYBILL_UNAVAILABLE', destination: 3 }, undefined],
])('%s names the destination', (_, error, destination) => {
  expect(unavailableIn(error)).toEqual({ destination })
})

test.each([
  ['an ordinary error', new Error('Refused.')],
  ['nothing', undefined],
  ['a permanent error caused by one', new NonRetryableError('Too large for any broker.', { cause: away })],
])('%s says nothing about the destination', (_, error) => {
  expect(unavailableIn(error)).toBeUndefined()
})
