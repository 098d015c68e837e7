import type { TopicPartition } from '@waybill/kafka'
import type { BindingFigures } from '../api/control.ts'
import type { RegisteredBinding } from '../run/registered-binding.ts'
import { lagOf } from './lag-of.ts'

/** Returns the figures of a binding in this process. */
export function figuresOf(
  binding: RegisteredBinding,
  endOf: (binding: RegisteredBinding, at: TopicPartition) => bigint | undefined,
): BindingFigures {
  const containers = binding.containers()
  const partitions = containers.flatMap(({ members }) => members.flatMap((member) => member.partitions))
  const lags = lagOf(containers, (at) => endOf(binding, at))
  const sum = (of: 'buffered' | 'running' | 'unconfirmed' | 'waiting'): number =>
    partitions.reduce((total, one) => total + one[of], 0)
  return {
    partitions: partitions.length,
    lag: sumOf(lags.filter(({ tier }) => tier === 0)),
    retrying: sumOf(lags.filter(({ tier }) => tier > 0)),
    buffered: sum('buffered'),
    running: sum('running'),
    unconfirmed: sum('unconfirmed'),
    waiting: sum('waiting'),
    breaker: binding.breaker,
  }
}

function sumOf(lags: readonly { readonly records: bigint | undefined }[]): bigint | undefined {
  return lags.reduce<bigint | undefined>(
    (total, { records }) => (total === undefined || records === undefined ? undefined : total + records),
    0n,
  )
}
