import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { breakerEffects } from './effect/breaker-effects.ts'
import { consumeEffects } from './effect/consume-effects.ts'
import { deadLetterEffects } from './effect/dead-letter-effects.ts'
import { failureEffects } from './effect/failure-effects.ts'
import { observed } from './effect/option-effect.ts'
import { orderEffects } from './effect/order-effects.ts'

const effects = [...consumeEffects, ...orderEffects, ...failureEffects, ...breakerEffects, ...deadLetterEffects]
const page = join(import.meta.dirname, '../../../../docs/reference/binding-options.md')

describe('an option of a binding', () => {
  test.each(effects.map((effect) => [effect.path, effect] as const))(
    'has its effect, which is not there without it: %s',
    async (_, effect) => {
      expect(await observed(effect, true)).toEqual(effect.seen)
      expect(await observed(effect, false)).toEqual(effect.usually)
      expect(effect.seen).not.toEqual(effect.usually)
    },
  )

  test('has such a case if it is on the reference page', async () => {
    const text = await readFile(page, 'utf8')
    const [options = ''] = text.split('\n## Presets')
    const paths = [...options.matchAll(/^\| `([^`]+)` \|/gm)].map(([, path = '']) => path)
    expect(paths.length).toBeGreaterThan(90)
    // A group is nothing but its options.
    const single = paths.filter(
      (path) => !paths.some((other) => other.startsWith(`${path}.`) || other.startsWith(`${path}[`)),
    )
    expect(effects.map(({ path }) => path).toSorted()).toEqual(single.toSorted())
  })
})
