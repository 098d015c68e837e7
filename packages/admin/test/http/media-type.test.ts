import { expect, test } from 'vitest'
import { accepts, mediaTypeOf } from '../../src/http/media-type.ts'

test('a media type is compared without parameters and case', () => {
  expect(mediaTypeOf('Application/JSON; charset=utf-8')).toBe('application/json')
  expect(mediaTypeOf(undefined)).toBeUndefined()
})

test('an Accept header admits a type by name, family or wildcard, and not with weight 0', () => {
  expect(
    ['', '*/*', 'application/*', 'text/html, application/json;q=0.5'].map((one) => accepts(one, 'application/json')),
  ).toEqual([true, true, true, true])
  expect(['text/html', 'application/json;q=0', 'image/*'].some((one) => accepts(one, 'application/json'))).toBe(false)
})
