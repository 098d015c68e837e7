import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { adaptiveRetry, exponentialRetry } from '@waybill/outbox'
import { describe, expect, test } from 'vitest'
import { nodeEffects } from './effect/node-effects.ts'
import { observed } from './effect/outbox-scene.ts'
import { relayEffects } from './effect/relay-effects.ts'

const effects = [...relayEffects, ...nodeEffects]
const page = join(import.meta.dirname, '../../../../docs/reference/outbox-options.md')
/** Options without a default that could take their place, each used by every test. */
const withoutCase = new Set(['runtime'])

describe('an option of the outbox', () => {
  test.each(effects.map((effect) => [effect.section, effect.path, effect] as const))(
    'has its effect, which is not there without it: %s, %s',
    async (_, __, effect) => {
      expect(await observed(effect, true)).toEqual(effect.seen)
      expect(await observed(effect, false)).toEqual(effect.usually)
      expect(effect.seen).not.toEqual(effect.usually)
    },
  )

  test('has such a case if it is on the reference page', async () => {
    const [options = ''] = (await readFile(page, 'utf8')).split('\n## Rejected options')
    const rows = options.split('\n## ').flatMap((section) => {
      const [title = ''] = section.split('\n')
      return [...section.matchAll(/^\| `([^`]+)` \|[^|]*\| ([^|]*) \|/gm)].map(([, path = '', usual = '']) => ({
        place: `${title}: ${path}`,
        path,
        isNeeded: usual === 'required' && !path.includes('.'),
      }))
    })
    expect(rows.length).toBeGreaterThan(60)
    const isGroup = (place: string): boolean => rows.some((other) => other.place.startsWith(`${place}.`))
    const single = rows.filter(({ place, path, isNeeded }) => !isGroup(place) && !isNeeded && !withoutCase.has(path))
    expect(effects.map(({ section, path }) => `${section}: ${path}`).toSorted()).toEqual(
      single.map(({ place }) => place).toSorted(),
    )
  })
})

const planOf = (retry: ReturnType<typeof exponentialRetry>, attempt: number, error: unknown = new Error('no')) =>
  retry.plan({ error, attempt }, () => 0.75)

describe('an option of a retry', () => {
  test.each([
    ['maxAttempts', { maxAttempts: 3 }, 3],
    ['baseDelayMs', { baseDelayMs: 5_000 }, 1],
    ['maxDelayMs', { maxDelayMs: 2_000 }, 9],
  ])('changes what exponentialRetry plans: %s', (_, options, attempt) => {
    expect(planOf(exponentialRetry(options), attempt)).not.toEqual(planOf(exponentialRetry(), attempt))
  })

  test.each([
    ['maxAttempts', { maxAttempts: 3 }, 3],
    ['baseDelayMs', { baseDelayMs: 5_000 }, 1],
    ['maxDelayMs', { maxDelayMs: 2_000 }, 9],
    ['jitter', { jitter: 0.9 }, 4],
    ['throttlingFactor', { throttlingFactor: () => 0.5 }, 4],
    ['forecast', { forecast: () => 'PERMANENT' as const }, 1],
  ])('changes what adaptiveRetry plans: %s', (_, options, attempt) => {
    expect(planOf(adaptiveRetry(options), attempt)).not.toEqual(planOf(adaptiveRetry(), attempt))
  })
})
