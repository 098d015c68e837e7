import type { JSX } from 'preact'
import { type KeyScope, keyScopes } from '../state/keys.ts'
import { settings } from '../state/settings.ts'
import { frameText } from '../text/frame.ts'
import { helpText } from '../text/help.ts'
import { Dialog } from './dialog.tsx'

/** The keys of the page and the words of the console. */
export function HelpSheet({ onClose }: { readonly onClose: () => void }): JSX.Element {
  // A page and its table come last, and are read first.
  const scopes = keyScopes.value.filter(({ bindings }) => bindings.length > 0).toReversed()
  return (
    <Dialog title={helpText.title} onClose={onClose} isWide>
      <div class="help">
        <div>
          <h3>{helpText.keys}</h3>
          {settings.keys.value === 'off' ? <p class="muted">{helpText.off}</p> : null}
          {scopes.map((scope) => (
            <Scope key={scope.title} scope={scope} />
          ))}
        </div>
        <div>
          <h3>{frameText.glossary}</h3>
          <dl class="terms">
            {helpText.terms.map(([term, meaning]) => (
              <div key={term}>
                <dt>{term}</dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
        </div>
      </div>
    </Dialog>
  )
}

function Scope({ scope: { title, bindings } }: { readonly scope: KeyScope }): JSX.Element {
  return (
    <>
      <h4>{title}</h4>
      <dl class="keys">
        {bindings.map(({ keys, label }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key === ' ' ? 'Space' : key}</kbd>
              ))}
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
    </>
  )
}
