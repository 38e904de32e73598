"""Where Chromium is, and what it is told so that it makes no request of its own and none around the proxy."""

import os
import shutil
from pathlib import Path

# Chromium takes the last list only, so Playwright's (first part) is repeated here.
_FEATURES_OFF = """
    AvoidUnnecessaryBeforeUnloadCheckSync DestroyProfileOnBrowserClose HttpsUpgrades HttpsFirstBalancedModeAutoEnable
    LensOverlay MediaRouter PaintHolding ThirdPartyStoragePartitioning OptimizationHints NetworkTimeServiceQuerying
    AimEnabled PreconnectToSearch HttpsFirstBalancedMode DialMediaRouteProvider Translate AutofillServerCommunication
    InterestFeedContentSuggestions CertificateTransparencyComponentUpdater PrivacySandboxSettings4 FedCm
    SpareRendererForSitePerProcess OptimizationGuideModelDownloading AcceptCHFrame BackForwardCache Prerender2
    SegmentationPlatform
"""

ARGUMENTS = [
    "--proxy-bypass-list=<-loopback>",  # loopback too goes to the proxy
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",  # it looks up no name, not even ahead of time
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-notifications",
    "--disable-speech-api",
    "--disable-file-system",
    "--block-new-web-contents",
    "--dns-prefetch-disable",
    "--no-pings",
    "--no-first-run",
    "--mute-audio",
    "--deny-permission-prompts",
    "--disable-features=" + ",".join(_FEATURES_OFF.split()),
]


def find_chromium(executable: str = "") -> str:
    """The path of a Chromium, or an empty text. The program itself, where known, not the distribution's wrapper."""
    if executable:
        return executable if Path(executable).is_file() else ""
    for path in ("/usr/lib/chromium/chromium", "/usr/lib/chromium-browser/chromium-browser"):
        if os.access(path, os.X_OK):
            return path
    for name in ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome"):
        if found := shutil.which(name):
            return found
    return ""
