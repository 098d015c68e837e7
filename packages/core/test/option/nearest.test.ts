import { nearest } from '@waybill/core/option'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const known = ['concurrency', 'groupId', 'maxAttempts', 'topic', 'tls', 'id', 'delayMs', 'maxBytes']

describe('nearest', () => {
  test.each([
    ['concurency', 'concurrency'], // a letter missing
    ['conncurrency', 'concurrency'], // a letter too many
    ['cuncorrency', 'concurrency'], // two letters wrong
    ['topci', 'topic'], // two letters swapped
    ['ipd', 'id'],
    ['MAX_ATTEMPTS', 'maxAttempts'],
    ['group-id', 'groupId'],
    ['tsl', 'tls'],
    ['delay', 'delayMs'],
    ['dealyMs', 'delayMs'],
    ['maxBites', 'maxBytes'],
    ['group', 'groupId'], // a part of it
    ['attempts', 'maxAttempts'],
    ['topicPattern', 'topic'], // more than it
  ])('finds for %s the option %s', (misspelt, meant) => {
    expect(nearest(misspelt, known)).toBe(meant)
  })

  test.each(['retries', 'x', '', 'topology', 'xy', '__proto__'])('finds nothing for %j', (word) => {
    expect(nearest(word, known)).toBeUndefined()
  })

  test('finds nothing for a part that several have', () => {
    expect(nearest('handler', ['handlerTimeout', 'alertHandler'])).toBeUndefined()
  })

  test('takes the first of two that are as near', () => {
    expect(nearest('cat', ['bat', 'car'])).toBe('bat')
    expect(nearest('cat', [])).toBeUndefined()
  })

  test('finds every word that differs by one letter from a word of three letters or more', () => {
    const words = fc.stringMatching(/^[a-z]{3,20}$/)
    fc.assert(
      fc.property(words, fc.nat(), fc.stringMatching(/^[a-z]$/), (word, at, letter) => {
        const place = at % word.length
        expect(nearest(word.slice(0, place) + letter + word.slice(place + 1), [word])).toBe(word)
        expect(nearest(word.slice(0, place) + letter + word.slice(place), [word])).toBe(word)
      }),
    )
  })

  test('compares no word whose length alone rules it out', () => {
    expect(nearest('x'.repeat(5_000_000), known)).toBeUndefined()
  })
})
