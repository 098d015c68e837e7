import { OptionsError } from '@waybill/core'
import { KafkaError } from '@waybill/kafka'
import { expect, test } from 'vitest'
import { AdminBusyError, AdminRequestError, forbidden } from '../../src/problem/admin-errors.ts'
import { problemOf, problemResponse } from '../../src/problem/problem.ts'

const place = { instance: '/eventbus/bindings', requestId: 'r1' }

test('a problem has the status, code, impact and hint of its error', () => {
  const problem = problemOf(new AdminRequestError('Cannot read the cursor.', { reason: 'CURSOR_MISMATCH' }), place)
  expect(problem).toEqual({
    type: 'https://waybill.dev/errors#WAYBILL_ADMIN_BAD_REQUEST',
    title: 'The request is invalid',
    status: 400,
    code: 'WAYBILL_ADMIN_BAD_REQUEST',
    detail: 'Cannot read the cursor.',
    impact: 'Nothing was changed.',
    reason: 'CURSOR_MISMATCH',
    ...place,
  })
})

test('an error that is not from Waybill shows nothing of itself', () => {
  const problem = problemOf(new Error('postgres://admin:secret@10.0.0.1'), place)
  expect(problem).toMatchObject({ status: 500, code: 'WAYBILL_ADMIN_INTERNAL', requestId: 'r1' })
  expect(JSON.stringify(problem)).not.toContain('secret')
})

test('violations of options keep their paths', () => {
  const error = new OptionsError('seek()', [{ path: 'partiton', problem: 'is not an option; did you mean partition?' }])
  expect(problemOf(error, place)).toMatchObject({
    status: 400,
    violations: [{ path: 'partiton', message: 'is not an option; did you mean partition?' }],
  })
})

test.each([
  ['FATAL', 502],
  ['FENCED', 502],
  ['RETRIABLE', 503],
  ['REBALANCING', 503],
  ['UNKNOWN', 504],
] as const)('a Kafka error of the kind %s has the status %i', (kind, status) => {
  expect(problemOf(new KafkaError('Cannot list offsets.', kind), place).status).toBe(status)
})

test('a refusal names the permission', () => {
  expect(problemOf(forbidden('ana', 'dlt:replay', 'shipping'), place)).toMatchObject({
    status: 403,
    permission: 'dlt:replay',
  })
})

test('a busy server says when to retry', () => {
  const response = problemResponse(problemOf(new AdminBusyError('Too many requests.', 429, 3), place), JSON.stringify)
  expect(response).toMatchObject({ status: 429, headers: { 'retry-after': '3' } })
  expect(response.body).not.toContain('retryAfterSeconds')
})
