import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { pages } from '../page/pages.ts'
import { addKeys, type KeyBinding, useKeys } from '../state/keys.ts'
import { live, togglePause } from '../state/live.ts'
import { hrefOf, open, place } from '../state/router.ts'
import { me, sees } from '../state/session.ts'
import { choices, settings } from '../state/settings.ts'
import { frameText } from '../text/frame.ts'
import { Announcer } from './announcer.tsx'
import { Banners } from './banners.tsx'
import { HelpSheet } from './help-sheet.tsx'
import { SearchBox } from './search-box.tsx'
import { StatusBar } from './status-bar.tsx'

/** The frame around every page. */
export function Frame({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const [isHelpOpen, setHelpOpen] = useState(false)
  useKeys(frameText.help, [{ keys: '?', label: frameText.keys.help, run: () => setHelpOpen(true) }])
  return (
    <div class="frame">
      <a class="skip" href="#page">
        {frameText.skip}
      </a>
      <header class="top">
        <a class="brand" href={hrefOf([])}>
          <svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true">
            <path d="M5 9l5.5 14L16 11l5.5 12L27 9" />
          </svg>
          {frameText.name}
        </a>
        <Navigation />
        <SearchBox />
        <button
          type="button"
          class="quiet"
          aria-label={frameText.help}
          title={`${frameText.help} (?)`}
          onClick={() => setHelpOpen(true)}
        >
          ?
        </button>
        <button
          type="button"
          class="quiet"
          aria-label={frameText.theme}
          title={`${frameText.theme} (t)`}
          onClick={nextTheme}
        >
          ◐
        </button>
      </header>
      <Banners />
      <main id="page" tabIndex={-1} class={live.isPaused.value ? 'is-paused' : undefined}>
        {children}
      </main>
      <StatusBar />
      <Announcer />
      {isHelpOpen ? <HelpSheet onClose={() => setHelpOpen(false)} /> : null}
    </div>
  )
}

function Navigation(): JSX.Element {
  const [first = ''] = place.value.segments
  const shown = pages.flatMap((page) =>
    page.nav !== undefined &&
    (page.permission === undefined || me.value === undefined || sees(page.permission)) &&
    page.nav.isShown?.() !== false
      ? [{ ...page.nav, segments: page.pattern.split('/').filter((part) => part !== '') }]
      : [],
  )
  return (
    <nav class="nav" aria-label={frameText.nav}>
      {shown.map(({ title, segments, also = [] }) => {
        const isHere = (segments[0] ?? '') === first || also.includes(first)
        return (
          <a key={title} href={hrefOf(segments)} aria-current={isHere ? 'page' : undefined}>
            {title}
          </a>
        )
      })}
    </nav>
  )
}

function nextTheme(): void {
  const { theme } = settings
  const at = choices.theme.indexOf(theme.value)
  theme.value = choices.theme[(at + 1) % choices.theme.length] ?? 'system'
}

/** Adds the keys that work on every page. */
export function startGlobalKeys(): void {
  addKeys({
    title: frameText.keysTitle,
    bindings: [
      go('g o', frameText.keys.overview),
      go('g f', frameText.keys.failures, 'failures'),
      go('g p', frameText.keys.operations, 'operations'),
      go('g x', frameText.keys.outbox, 'outbox'),
      go('g a', frameText.keys.audit, 'audit'),
      { keys: '.', label: frameText.keys.pause, run: togglePause },
      { keys: 't', label: frameText.keys.theme, run: nextTheme },
    ],
  })
}

function go(keys: string, label: string, ...segments: string[]): KeyBinding {
  return { keys, label, run: () => open(hrefOf(segments)) }
}
