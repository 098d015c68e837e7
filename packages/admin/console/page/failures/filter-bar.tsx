import './filter-bar.css'
import type { JSX } from 'preact'
import type { UrlState } from '../../state/router.ts'
import { may } from '../../state/session.ts'
import { failuresText } from '../../text/failures.ts'
import { Inert } from '../../view/bytes-view.tsx'
import { chosenParts, type FailureFilter, type filterParams, isFiltered, stateChoices } from './failure-filter.ts'

type FilterUrl = Pick<UrlState<typeof filterParams>, 'set'>

/** The filter: search, time, state, and the values that were chosen in the facets. */
export function FilterBar({ filter, url }: { readonly filter: FailureFilter; readonly url: FilterUrl }): JSX.Element {
  const search = may('payloads:read')
  return (
    <div class="filter-bar" role="search" aria-label={failuresText.filters}>
      <input
        type="search"
        class="failure-search"
        aria-label={failuresText.search}
        placeholder={failuresText.searchPlaceholder}
        title={search.isAllowed ? undefined : failuresText.searchNeeds}
        disabled={!search.isAllowed}
        value={filter.q}
        maxLength={200}
        onInput={(event) => url.set({ q: event.currentTarget.value })}
      />
      <select
        aria-label={failuresText.since}
        value={filter.since}
        onChange={(event) => url.set({ since: event.currentTarget.value }, 'PUSH')}
      >
        {sinceChoicesOf(filter.since).map((one) => (
          <option key={one} value={one}>
            {failuresText.sinceChoices[one] ?? failuresText.sinceInstant(one)}
          </option>
        ))}
      </select>
      <select
        aria-label={failuresText.state}
        value={filter.state}
        onChange={(event) => url.set({ state: event.currentTarget.value as FailureFilter['state'] }, 'PUSH')}
      >
        {stateChoices.map((one) => (
          <option key={one} value={one}>
            {one === 'ANY' ? failuresText.anyState : one}
          </option>
        ))}
      </select>
      {chosenParts(filter).map(({ name, value }) => (
        <button
          key={name}
          type="button"
          class="chosen"
          aria-label={failuresText.remove(name, value)}
          onClick={() => url.set({ [name]: '' }, 'PUSH')}
        >
          <span class="muted">{name}</span> <Inert>{value}</Inert> <span aria-hidden="true">✕</span>
        </button>
      ))}
      {isFiltered(filter) ? (
        <button
          type="button"
          class="quiet"
          onClick={() =>
            url.set(
              { q: '', binding: '', topic: '', event: '', exception: '', reason: '', key: '', traceId: '', since: '' },
              'PUSH',
            )
          }
        >
          {failuresText.clear}
        </button>
      ) : null}
    </div>
  )
}

function sinceChoicesOf(given: string): readonly string[] {
  const usual = Object.keys(failuresText.sinceChoices)
  return usual.includes(given) ? usual : [...usual, given]
}
