# Written by dev/homebrew.py from pyproject.toml; do not edit.
class HivemindMemory < Formula
  include Language::Python::Virtualenv

  desc "Persistent memory for AI coding agents that a team can trust"
  homepage "https://github.com/hivemind-memory/hivemind"
  url "https://github.com/hivemind-memory/hivemind.git", tag: "v0.3.0"
  license "Apache-2.0"
  head "https://github.com/hivemind-memory/hivemind.git", branch: "main"

  depends_on "python@3.13"

  def install
    virtualenv_create(libexec, "python3.13")
    system "python3.13", "-m", "pip", "--python=#{libexec}/bin/python", "install", buildpath
    bin.install_symlink libexec/"bin/hivemind", libexec/"bin/hivemind-hook", libexec/"bin/hivemind-memory"
  end

  test do
    ENV["HIVEMIND_HOME"] = testpath/"home"
    system bin/"hivemind", "remember", "Deploys run from main only"
    assert_match "from main", shell_output("#{bin}/hivemind recall deploys")
  end
end
