import { instance, list, type Rule } from '@waybill/core/option'
import type { AnyProjection } from '../definition/projection.ts'

/** The rule of a `previous` option. */
export const previousRule: Rule<readonly AnyProjection[]> = list(
  instance<AnyProjection>(
    'a projection made by defineProjection',
    (value) => typeof (value as AnyProjection | null)?.fold === 'object',
  ),
  { default: [], because: 'most deployments have one revision' },
)
