import type { JSX } from 'preact'
import { call } from '../../api/client.ts'
import { grouped } from '../../format/number.ts'
import { type Resource, useResource } from '../../state/resource.ts'
import type { UrlState } from '../../state/router.ts'
import { failuresText } from '../../text/failures.ts'
import { Inert } from '../../view/bytes-view.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { type FailureFilter, type filterParams, queryOf } from './failure-filter.ts'

interface FacetValue {
  readonly value: string | null
  readonly count: string
}

type Facets = Readonly<Record<string, { readonly values: readonly FacetValue[]; readonly other: string }>>
type FacetName = 'binding' | 'exception' | 'event' | 'reason' | 'state'

const names: readonly FacetName[] = ['binding', 'exception', 'event', 'reason', 'state']
/** More of them are found by the search. */
const maxValues = 12

/** Counts of dead letters by their values. A click narrows the filter. */
export function FacetPanel({
  filter,
  url,
}: {
  readonly filter: FailureFilter
  readonly url: Pick<UrlState<typeof filterParams>, 'set'>
}): JSX.Element {
  const facets: Resource<Facets> = useResource(
    async (signal) => {
      const query = queryOf(filter)
      const [ofFilter, ofStates] = await Promise.all([
        call('countDeadLetters', { query: { ...query, by: ['event', 'exception', 'binding', 'reason'] } }, { signal }),
        // All states are counted, so that those that are not shown can be chosen.
        call('countDeadLetters', { query: { ...query, state: undefined, by: ['state'] } }, { signal }),
      ])
      return { ...ofFilter.facets, ...ofStates.facets }
    },
    [JSON.stringify(filter)],
  )
  return (
    <aside class="facets" aria-label={failuresText.facets}>
      <ResourceView resource={facets} rows={6}>
        {(value) =>
          names.map((name) => (
            <FacetList
              key={name}
              name={name}
              values={value[name]?.values ?? []}
              other={value[name]?.other ?? '0'}
              chosen={filter[name]}
              onChoose={(next) => url.set({ [name]: next }, 'PUSH')}
            />
          ))
        }
      </ResourceView>
    </aside>
  )
}

function FacetList({
  name,
  values,
  other,
  chosen,
  onChoose,
}: {
  readonly name: FacetName
  readonly values: readonly FacetValue[]
  readonly other: string
  readonly chosen: string
  readonly onChoose: (value: string) => void
}): JSX.Element | null {
  if (values.length === 0) return null
  const rest = values.slice(maxValues).reduce((sum, { count }) => sum + BigInt(count), BigInt(other))
  return (
    <section class="facet" aria-label={failuresText[name]}>
      <h2>{failuresText[name]}</h2>
      <ul>
        {values.slice(0, maxValues).map(({ value, count }) => (
          <li key={value ?? ''}>
            {value === null ? (
              <span class="facet-value muted">{failuresText.noValue}</span>
            ) : (
              <button
                type="button"
                class="facet-value"
                aria-pressed={value === chosen}
                title={value.slice(0, 300)}
                onClick={() => onChoose(value === chosen ? '' : value)}
              >
                <Inert>{value}</Inert>
              </button>
            )}
            <span class="figure muted">{grouped(count)}</span>
          </li>
        ))}
        {rest > 0n ? (
          <li>
            <span class="facet-value muted">{failuresText.others}</span>
            <span class="figure muted">{grouped(rest)}</span>
          </li>
        ) : null}
      </ul>
    </section>
  )
}
