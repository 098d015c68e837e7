import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { useKeys } from '../state/keys.ts'
import { live } from '../state/live.ts'
import { hrefOf, open } from '../state/router.ts'
import { placeOfSearch } from '../state/search.ts'
import { frameText } from '../text/frame.ts'

/** Finds bindings, ids and failures. */
export function SearchBox(): JSX.Element {
  const input = useRef<HTMLInputElement>(null)
  useKeys(frameText.search, [{ keys: '/', label: frameText.keys.search, run: () => input.current?.focus() }])
  const bindings = [...(live.items.binding.value?.keys() ?? [])]
  return (
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        const value = input.current?.value ?? ''
        if (value.trim() === '') return
        const { segments, query } = placeOfSearch(value, bindings)
        open(hrefOf(segments, query))
        input.current?.blur()
      }}
    >
      <input
        ref={input}
        type="search"
        aria-label={frameText.search}
        placeholder={`/  ${frameText.search}`}
        title={frameText.searchHint}
        list="search-names"
        autocomplete="off"
        spellcheck={false}
        onKeyDown={(event) => {
          if (event.key === 'Escape') input.current?.blur()
        }}
      />
      <datalist id="search-names">
        {bindings.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </form>
  )
}
