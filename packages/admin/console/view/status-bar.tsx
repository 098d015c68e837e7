import type { JSX } from 'preact'
import type { Tone } from '../format/state-look.ts'
import { duration, fullTime, zoneName } from '../format/time.ts'
import { seconds } from '../state/clock.ts'
import { type LiveStatus, live, togglePause } from '../state/live.ts'
import { hrefOf } from '../state/router.ts'
import { me } from '../state/session.ts'
import { settings } from '../state/settings.ts'
import { frameText } from '../text/frame.ts'
import { Glyph } from './state-chip.tsx'

/** The foot of the page: how fresh the values are, who reads them, and from where. */
export function StatusBar(): JSX.Element {
  const { tone, glyph, words } = lookOf(live.status.value)
  const zone = settings.zone.value
  const asOf = live.asOf.value
  const alive = [...(live.items.instance.value?.values() ?? [])].filter((one) => one.alive)
  const versions = [...new Set(alive.flatMap(({ version }) => version ?? []))]
  return (
    <footer class="status-bar">
      <button type="button" class="quiet" title={frameText.pauseHint} onClick={togglePause}>
        <Glyph tone={tone}>{glyph}</Glyph> {words}
      </button>
      <span class="figure">
        {fullTime(seconds.value, zone).slice(11, 19)} {zoneName(zone)}
      </span>
      {live.isStale.value && asOf !== undefined ? (
        <span class="tone-warn">{frameText.valuesOld(duration(seconds.value - asOf))}</span>
      ) : null}
      {me.value === undefined ? null : (
        <a href={hrefOf(['me'])}>
          {me.value.by}
          {me.value.roles.length === 0 ? '' : ` (${me.value.roles.join(', ')})`}
        </a>
      )}
      {alive.length === 0 ? null : <span>{frameText.instances(alive.length, versions.join(', '))}</span>}
    </footer>
  )
}

function lookOf(status: LiveStatus): { readonly tone: Tone; readonly glyph: string; readonly words: string } {
  switch (status.kind) {
    case 'LIVE':
      return { tone: 'ok', glyph: '●', words: frameText.live }
    case 'CONNECTING':
      return { tone: 'off', glyph: '◌', words: frameText.connecting }
    case 'RECONNECTING':
      return {
        tone: 'warn',
        glyph: '◌',
        words: frameText.reconnecting(Math.max(0, Math.ceil((status.retryAt - seconds.value) / 1_000))),
      }
    case 'POLLING':
      return { tone: 'warn', glyph: '○', words: frameText.polling }
    case 'PAUSED':
      return { tone: 'calm', glyph: '‖', words: status.by === 'USER' ? frameText.paused : frameText.pausedHidden }
  }
}
